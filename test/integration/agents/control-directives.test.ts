/** The cases of control directives under their ids, end to end: a model, a run, a worker, and real servers that emit them.
 *  U, N and T are upstream's cases of directives, engine and server; D to S are ours. What has no case here differs on purpose
 *  (docs/control-tools.md), or is shown under load: Q01 in crash.test.ts, Q02 in run.test.ts.
 *  It must not call a handler or an extraction by itself: what a case shows is in a log, or in what the model was given. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { RunView } from '../../../src/contract/run/run.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { CONTROL_READS, envelope, inject, STOP } from '../../support/control-reads.ts';
import { approvedOverKills } from '../../support/control-process.ts';
import { untilListed } from '../../support/eventually.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { planOf, type PlannedModel, type Round, startPlannedModel } from '../../support/planned-model.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const OBEYING = fileURLToPath(new URL('../../support/modules/obeying.ts', import.meta.url));
const TOOLS = fileURLToPath(new URL('../../support/modules/tools.ts', import.meta.url));
const PHASES = { plan: 'Read only.', build: '' };

const redis = useRedis();
const scene = shared(async () => {
  const model = await startPlannedModel();
  const agent = { stream: false, tools: ['*'], model_call: { max_retries: 0 } };
  const config = {
    mcpServers: {
      ctl: { builtin: 'control' },
      mute: { builtin: 'control', directives: 'none' },
      peer: { ...ownServerEntry('legacy-peer.ts'), directives: 'all' },
      mine: { module: TOOLS, directives: 'all' },
      hasty: { module: TOOLS, lane: { timeout_ms: 200 } },
      anchors: { module: TOOLS, directives: ['context_anchor'], context: 'none' },
    },
    providers: { local: { type: 'openai-compatible', base_url: model.url } },
    models: { fast: 'local:small', capable: 'local:large' },
    strategies: [OBEYING],
    agents: {
      lead: { ...agent, options: { phases: PHASES } },
      own: { ...agent, strategy: 'obeying' },
      coder: { ...agent, description: 'Writes code' },
      tester: agent,
      short: { ...agent, limits: { max_iterations: 1 } },
      poor: { ...agent, limits: { max_tool_calls: 1 } },
      tight: { ...agent, compaction: { context_tokens: 4_000, keep_recent: 2 } },
      careful: { ...agent, policies: { approvals: { 'peer.*': 'deny', 'ctl.*': 'ask' } } },
    },
  };
  const service = await startService({ redisUrl: redis.url, config });
  await untilListed(service.url, 'ctl.todo_write', 'mute.complete', 'peer.say', 'mine.fail', 'hasty.hang');
  const client = createHttpClient({ baseUrl: service.url });
  return {
    model,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await service.stop();
      await model[Symbol.asyncDispose]();
    },
  };
});

interface Story {
  readonly log: readonly Signal[];
  readonly run: RunView;
  readonly calls: ReturnType<PlannedModel['given']>;
}

async function logOf(id: string): Promise<Signal[]> {
  const log: Signal[] = [];
  for await (const signal of scene.client.signals(id)) log.push(signal);
  return log;
}

/** A run of the agent with this plan, to its end. */
async function played(plan: string, agent = 'lead', more: object = {}): Promise<Story> {
  const { request_id: id } = await scene.client.runs.start({ agent, query: plan, ...more });
  const log = await logOf(id);
  const view = await scene.client.request(id);
  if (!view?.run) throw new Error('no run');
  return { log, run: view.run, calls: scene.model.given(plan) };
}

const data = ({ log }: Story, type: string): unknown[] =>
  log.flatMap((signal) => (signal.type === type ? [signal.data] : []));
/** What the nth call of the model was given after the round before it, the newest last. */
const read = ({ calls }: Story, nth: number): unknown[] =>
  calls[nth]?.messages.map(({ content }) => content) ?? [];
/** All that the nth call was sent; the wire has user messages in a row as paragraphs of one. */
const allRead = (story: Story, nth: number): string => read(story, nth).join('\n\n');
const results = ({ run }: Story): unknown[] =>
  run.messages.flatMap((message) =>
    message.role === 'tool' ? [JSON.parse(String(message['content'])) as unknown] : [],
  );
const anchor = (key: string, text: string): string => `[CONTEXT ANCHOR ${key}]\n${text}`;

/** A call of the peer, whose answer carries these. */
const say = (...directives: unknown[]): Round[number] => ['peer.say', { texts: [envelope(directives)] }];
const todo = (content: string, more: object = {}): object => ({
  content,
  active_form: content,
  status: 'pending',
  ...more,
});
const todos = (args: object): Round[number] => ['ctl.todo_write', args];

type Case = [id: string, rounds: Round[], holds: (story: Story) => void, agent?: string];

describe('the built-in server', () => {
  const HANDOFF = { target_tier: 'capable', reason: 'hard', task_state: 'plan_ready' };
  const cases: Case[] = [
    [
      'S02 T01 T02 T03 a list is kept by the run: added to, changed, replaced; the model sees it in every later call',
      [
        [
          todos({ action: 'add', todos: [todo('one'), todo('two')] }),
          todos({ action: 'add', todos: [todo('three')] }),
        ],
        [todos({ action: 'update', index: 1, status: 'in_progress' })],
        [todos({ action: 'remove', index: 0 })],
        [todos({ todos: [] })],
      ],
      (story) => {
        const shown = (...lines: string[]): string =>
          anchor('todo_state', ['[CURRENT TODO STATE]', ...lines, '[END TODO STATE]'].join('\n'));
        const said = [
          'Added 2 item(s). Total: 2',
          'Added 1 item(s). Total: 3',
          'Updated item 1: two',
          'Removed item 0: one',
        ];
        expect(results(story)).toMatchObject(
          [...said, 'Todo list replaced: 0/0 completed'].map((result) => ({ result })),
        );
        expect(read(story, 1).at(-1)).toBe(
          shown('  [0] [ ] one', '  [1] [ ] two', '  [2] [ ] three', 'Progress: 0/3 completed'),
        );
        expect(read(story, 3).at(-1)).toBe(
          shown('  [0] [>] two', '  [1] [ ] three', 'Progress: 0/2 completed'),
        );
        expect(read(story, 4).at(-1)).toContain('Todo list replaced');
        expect(data(story, 'presenter.notified')).toHaveLength(5);
      },
    ],
    [
      'S02 errors change nothing',
      [
        [todos({ todos: [todo('one', { status: 'in_progress' })] })],
        [
          todos({ action: 'add', todos: [] }),
          todos({ action: 'update', index: 7 }),
          todos({ action: 'remove' }),
          todos({ action: 'add', todos: [todo('two', { status: 'in_progress' })] }),
        ],
      ],
      (story) => {
        const messages = [
          'add needs todos',
          'there is no item 7',
          'remove needs index',
          'only one item may be in_progress',
        ];
        expect(results(story).slice(1)).toMatchObject(
          messages.map((message) => ({
            ok: false,
            error: { message: expect.stringContaining(`Error: ${message}`) as unknown },
          })),
        );
        expect(read(story, 2).at(-1)).toContain('[0] [>] one');
      },
    ],
    [
      'S01 E05 E16 T04 T07 a handoff warns, clears the agent’s own items, changes the tier, stops the round',
      [
        [todos({ todos: [todo('mine'), todo('theirs', { target_tier: 'code' })] })],
        [['ctl.handoff', HANDOFF], ['peer.pid']],
        [todos({ action: 'add', todos: [todo('next', { target_tier: 'code' })] })],
      ],
      (story) => {
        expect(story.calls.map(({ model }) => model)).toEqual(['small', 'small', 'large', 'large']);
        expect(results(story)).toMatchObject([
          {},
          { result: 'Handoff requested to capable. Reason: hard' },
          { ok: false, error: { type: 'cancelled' } },
          { result: 'Added 1 item(s). Total: 2' },
        ]);
        const warning =
          '[SYSTEM] Warning: 1 self-directed todo(s) not yet completed. Proceeding with handoff.';
        expect(allRead(story, 2)).toContain(warning);
        expect(read(story, 2).at(-1)).toContain('    [1] [ ] theirs\nProgress: 0/1 completed');
        expect(read(story, 3).at(-1)).toContain('    [0] [ ] theirs\n    [1] [ ] next');
        expect(data(story, 'agent.tier_changed')).toMatchObject([{ tier: 'capable', reason: 'hard' }]);
      },
    ],
    [
      'S01 T06 a handoff of a list without items for others is refused',
      [[todos({ todos: [todo('mine')] })], [['ctl.handoff', HANDOFF]]],
      (story) => {
        const message = expect.stringContaining('No execution todos (with target_tier) found.') as unknown;
        expect(results(story)[1]).toMatchObject({ ok: false, error: { message } });
        expect(data(story, 'agent.tier_changed')).toEqual([]);
      },
    ],
    [
      'S01 T05 T08 a handoff of no list, or of one on which the agent’s own items are completed, warns of nothing',
      [
        [['ctl.handoff', HANDOFF]],
        [todos({ todos: [todo('mine', { status: 'completed' }), todo('theirs', { target_tier: 'code' })] })],
        [['ctl.handoff', { ...HANDOFF, target_tier: 'fast' }]],
      ],
      (story) => {
        expect(story.calls.map(({ model }) => model)).toEqual(['small', 'large', 'large', 'small']);
        expect(JSON.stringify(read(story, 3))).not.toContain('[SYSTEM]');
      },
    ],
    [
      'E12 delegate: a child run takes the task, and the run goes on with its answer',
      [[['ctl.delegate', { target: 'coder', task: 'write it' }], ['peer.pid']]],
      (story) => {
        expect(read(story, 1).at(-1)).toBe('[DELEGATION COMPLETE: coder] did write it');
        expect(story.run.children).toMatchObject([{ status: 'completed' }]);
      },
    ],
    [
      'E13 pipeline: the stages run one after the other, each with the answer of the one before',
      [[['ctl.pipeline', { stages: ['coder', 'tester'], task: 'T' }]]],
      (story) => {
        expect(read(story, 1).at(-1)).toBe('[PIPELINE COMPLETE: coder -> tester] did T after did T');
        expect(story.run.children).toHaveLength(2);
      },
    ],
    [
      'E14 complete ends the run with its summary',
      [[['ctl.complete', { summary: 'All done.', coverage_gap: true }]]],
      (story) => {
        expect(story.run).toMatchObject({
          status: 'completed',
          termination_reason: 'completed_by_tool',
          details: { coverage_gap: true },
        });
        expect(story.run.result).toContain('All done.');
        expect(story.calls).toHaveLength(1);
      },
    ],
    [
      'E15 phase_change: a phase of the agent is shown to the model, another one is refused',
      [
        [['ctl.phase_change', { phase: 'plan' }]],
        [['ctl.phase_change', { phase: 'party' }]],
        [['ctl.phase_change', { phase: 'build' }]],
      ],
      (story) => {
        expect(read(story, 1).at(-1)).toBe(anchor('phase', 'You are in the phase plan. Read only.'));
        expect(allRead(story, 2)).toContain(
          "[SYSTEM] Phase change rejected: 'party' is not one of plan, build.",
        );
        expect(data(story, 'directive.ignored')).toMatchObject([{ reason: 'unknown_phase' }]);
        expect(data(story, 'agent.phase_changed')).toMatchObject([
          { phase: 'plan', previous: null },
          { phase: 'build', previous: 'plan' },
        ]);
      },
    ],
    [
      'S03 E08 N10 T09 T10 prune_context keeps two results, or as many as it names, and prunes short ones too',
      [
        [
          ['peer.large', { bytes: 500 }],
          ['peer.large', { bytes: 501 }],
        ],
        [['ctl.prune_context', {}]],
        [['ctl.prune_context', { keep_recent: 5 }]],
        [['ctl.prune_context', { keep_recent: 0 }]],
      ],
      (story) => {
        const notes = (nth: number): number =>
          read(story, nth).filter((text) => String(text).startsWith('[Previous: ')).length;
        expect([1, 2, 3, 4].map(notes)).toEqual([0, 1, 1, 5]);
        expect(read(story, 4)).toContain('[Previous: peer.large result — 523 chars, pruned to save context]');
      },
    ],
    [
      'S04 T11 an unknown tool is an error without directives',
      [[['ctl.dance', {}]]],
      (story) => {
        expect(results(story)).toMatchObject([{ ok: false, error: { type: 'unknown_tool' } }]);
      },
    ],
    [
      'D17 E06 the operator’s word counts: a server that may send nothing changes nothing, and each refusal is recorded',
      [[['mute.complete', { summary: 'x' }]]],
      (story) => {
        expect(data(story, 'directive.rejected')).toMatchObject(
          ['complete', 'stop_processing'].map((directive_type) => ({ directive_type, reason: 'untrusted' })),
        );
        expect(story.run.termination_reason).toBe('final_answer');
      },
    ],
  ];
  test.each(cases)('%s', async (id, rounds, holds, agent) =>
    holds(await played(planOf(id, ...rounds), agent)),
  );
});

describe('one answer of a server', () => {
  test.each(CONTROL_READS)('%s', async (_id, texts, effects, reasons = [], isError = false) => {
    const ended = await scene.client.execute({
      type: 'tool_exec',
      tool_name: 'peer.say',
      arguments: { texts, isError },
    });
    if (ended.type !== 'ai.tool.result') throw new Error(ended.type);
    expect(ended.data.result).toMatchObject({ ok: !isError, effects });
    const rejected = (ended.data.metadata['rejected_directives'] ?? []) as { reason: string }[];
    expect(rejected.map(({ reason }) => reason)).toEqual(reasons);
    expect(ended.data.content).not.toContain('_directives"');
  });
});

describe('what a run makes of them', () => {
  const big: Round[number] = ['peer.large', { bytes: 6_000 }];
  const tier = (name: string): object => ({ type: 'tier_change', params: { tier: name } });
  const anchored = (key: string, content: string): object => ({
    type: 'context_anchor',
    params: { key, content },
  });
  const phase = (name: string): object => ({ type: 'phase_change', params: { phase: name } });
  const cases: Case[] = [
    [
      'U19 P01 E02 N05 no directives, and all calls are made',
      [[say(), ['peer.pid'], ['peer.pid', { n: 2 }]]],
      (story) => {
        expect(results(story)).toHaveLength(3);
        expect(results(story)).not.toContainEqual(expect.objectContaining({ ok: false }));
      },
    ],
    [
      'U20 P02 what the run cannot do is recorded, and the rest is done',
      [[say(phase('p'), inject('after'))]],
      (story) => {
        expect(data(story, 'directive.ignored')).toMatchObject([
          { directive_type: 'phase_change', reason: 'no_phases' },
        ]);
        expect(read(story, 1).at(-1)).toBe('after');
      },
      'coder',
    ],
    [
      'U21 U25 P03 a handler of the user replaces ours, and reads the fields',
      [[say(phase('tea'))]],
      (story) => {
        expect(read(story, 1).at(-1)).toBe('own handler: tea');
      },
      'own',
    ],
    [
      'U24 U27 P04 D14 in order, after the whole round',
      [[say(inject('a'), anchored('k', 'K'), inject('b')), say(inject('c'))]],
      (story) => {
        expect(read(story, 1).at(-1)).toBe(['a', 'b', 'c', anchor('k', 'K')].join('\n\n'));
      },
    ],
    [
      'U22 P05 what follows a stop in the same answer is done',
      [[say(STOP, inject('still'))]],
      (story) => {
        expect(read(story, 1).at(-1)).toBe('still');
      },
    ],
    [
      'P06 a handler that breaks fails the run, and nothing is half done',
      [[say(inject('lost'), phase('broken'))]],
      (story) => {
        expect(story.run).toMatchObject({
          status: 'failed',
          error: { type: 'strategy_error', message: 'no such phase' },
        });
        expect(JSON.stringify(story.run.messages)).not.toContain('"lost"');
      },
      'own',
    ],
    [
      'U28 P07 Q01 each message once, whatever follows',
      [[say(inject('once'))], [['peer.pid']]],
      (story) => {
        expect(read(story, 2).filter((text) => text === 'once')).toHaveLength(1);
      },
    ],
    [
      'E01 N04 the second of three calls stops: two are made, the third is recorded',
      [[['peer.pid'], say(STOP), ['peer.pid', { n: 2 }]]],
      (story) => {
        expect(results(story)).toMatchObject([
          { ok: true },
          { ok: true },
          { ok: false, error: { type: 'cancelled' } },
        ]);
        expect(story.calls).toHaveLength(2);
      },
    ],
    [
      'U23 E03 N06 a tier may follow any other, and come back',
      [[say(tier('capable'))], [say(tier('fast'))]],
      (story) => {
        expect(story.calls.map(({ model }) => model)).toEqual(['small', 'large', 'small']);
      },
    ],
    [
      'E04 E06 N07 an unknown tier changes nothing and the model learns it; the stop after it holds',
      [[say(tier('wizard'), STOP), ['peer.pid']]],
      (story) => {
        expect(story.calls.map(({ model }) => model)).toEqual(['small', 'small']);
        expect(read(story, 1).at(-1)).toBe(
          "[SYSTEM] Handoff rejected: 'wizard' is not a tier. Nothing has changed.",
        );
        expect(results(story)[1]).toMatchObject({ error: { type: 'cancelled' } });
      },
    ],
    [
      'E07 inject_context: nothing, and as the system',
      [[say(inject(''), inject('rule', { role: 'system' }))]],
      (story) => {
        expect(story.run.messages.slice(3, 5)).toMatchObject([
          { role: 'system', content: 'rule' },
          { role: 'assistant' },
        ]);
      },
    ],
    [
      'E09 anchors: one text a key, the newest last, removed by an empty one',
      [[say(anchored('a', '1'), anchored('b', '2'), anchored('a', '3'))], [say(anchored('b', ''))]],
      (story) => {
        expect(read(story, 1).at(-1)).toBe(`${anchor('b', '2')}\n\n${anchor('a', '3')}`);
        expect(read(story, 2).at(-1)).toBe(anchor('a', '3'));
      },
    ],
    [
      'E10 N01 anchors stay through compaction and a change of the tier',
      [[say(anchored('a', 'A'), tier('capable')), big], [big], [['peer.pid']]],
      (story) => {
        expect(JSON.stringify(read(story, 3))).toContain('pruned to save context');
        expect([1, 2, 3].map((nth) => read(story, nth).at(-1))).toEqual(
          [1, 2, 3].map(() => anchor('a', 'A')),
        );
      },
      'tight',
    ],
    [
      'E11 notify_presenter is a signal, and nothing for the model',
      [[say({ type: 'notify_presenter', params: { key: 'k', data: { secret: 1 } } })]],
      (story) => {
        expect(data(story, 'presenter.notified')).toMatchObject([{ key: 'k', data: { secret: 1 } }]);
        expect(JSON.stringify(read(story, 1).slice(1))).not.toContain('secret');
      },
    ],
    [
      'E12 a child that fails, and an agent that there is not',
      [
        [
          say({
            type: 'delegate',
            params: { target: 'poor', task: planOf('E12 child', [['peer.pid'], ['peer.pid', { n: 2 }]]) },
          }),
        ],
        [say({ type: 'delegate', params: { target: 'nobody', task: 't' } })],
      ],
      (story) => {
        expect(read(story, 1).at(-1)).toMatch(/^\[DELEGATION FAILED: poor\] /);
        expect(read(story, 2).at(-1)).toMatch(/^\[DELEGATION FAILED: nobody\] /);
      },
    ],
    [
      'E13 a pipeline ends with its first failure; one stage is none',
      [
        [say({ type: 'pipeline', params: { stages: ['nobody', 'coder'], task: 't' } })],
        [['ctl.pipeline', { stages: ['coder'], task: 't' }]],
      ],
      (story) => {
        expect(read(story, 1).at(-1)).toMatch(/^\[PIPELINE FAILED: nobody\] /);
        expect(story.run.children).toHaveLength(1);
        expect(results(story)[1]).toMatchObject({ ok: false, error: { type: 'validation_error' } });
      },
    ],
    [
      'E14 complete wins over a pipeline',
      [
        [
          say(
            { type: 'pipeline', params: { stages: ['coder', 'tester'], task: 't' } },
            { type: 'complete', params: { summary: 'S' } },
          ),
        ],
      ],
      (story) => {
        expect(story.run).toMatchObject({ status: 'completed', result: 'S', children: [] });
      },
    ],
    [
      'L01 the last model call that is allowed',
      [[['peer.pid']], [['peer.pid']]],
      (story) => {
        expect(story.run.termination_reason).toBe('max_iterations');
        expect(story.calls).toHaveLength(1);
      },
      'short',
    ],
    [
      'L03 the same call: a warning after three, the end at four; the order of keys is no difference',
      [1, 2, 3, 4].map((n) => [['peer.echo', n % 2 ? { a: 1, b: 2 } : { b: 2, a: 1 }]] as Round),
      (story) => {
        expect(read(story, 3).at(-1)).toContain('Do NOT call it so again');
        expect(story.run).toMatchObject({ status: 'failed', error: { type: 'duplicate_calls' } });
      },
    ],
    [
      'L04 eleven calls of one answer are all made',
      [Array.from({ length: 11 }, (_, n) => ['peer.echo', { n }] as const)],
      (story) => {
        expect(results(story).filter((result) => (result as { ok: boolean }).ok)).toHaveLength(11);
      },
    ],
    [
      'L05 L06 a call that is denied asks for nothing',
      [[say(inject('no'))]],
      (story) => {
        expect(results(story)).toMatchObject([{ ok: false, error: { type: 'denied' } }]);
        expect(read(story, 1)).not.toContain('no');
      },
      'careful',
    ],
  ];
  test.each(cases)('%s', async (id, rounds, holds, agent) =>
    holds(await played(planOf(id, ...rounds), agent)),
  );

  test('E12 two levels deep, delegation is refused', async () => {
    const to = (task: string): Round => [['ctl.delegate', { target: 'coder', task }]];
    const deepest = planOf('E12 second', to('too deep'));
    await played(planOf('E12 deep', to(planOf('E12 first', to(deepest)))));
    const said = scene.model.given(deepest)[1]?.messages.at(-1)?.content;
    expect(said).toContain('[DELEGATION REJECTED] coder');
  });

  test('L05 a call that a person denies asks for nothing, and the model reads why', async () => {
    const plan = planOf('L05', [['ctl.complete', { summary: 'x' }]]);
    const { request_id: id } = await scene.client.runs.start({ agent: 'careful', query: plan });
    for await (const { type } of scene.client.signals(id)) {
      if (type === 'ai.tool.approval_requested')
        await scene.client.runs.decide(id, 'tool-1-0', { decision: 'deny', reason: 'not yet' });
    }
    expect((await scene.client.request(id))?.run?.termination_reason).toBe('final_answer');
    expect(JSON.stringify(scene.model.given(plan)[1]?.messages)).toContain('not yet');
  });

  test('Q03 the trace names what was refused', async () => {
    const { log } = await played(planOf('Q03', [say({ type: 'dance' })]));
    const trace = await scene.client.trace(log[0]?.subject ?? '');
    expect(trace.directives.flatMap(({ events }) => events)).toContainEqual(
      expect.objectContaining({ type: 'directive.rejected', message: 'unknown_type' }),
    );
  });
});

test('the control server is killed whenever a run waits for a person: the run keeps its list and goes on', async () => {
  const two = [todo('one'), todo('two')];
  const done = { action: 'update', index: 1, status: 'completed' };
  const plan = planOf('killed', [todos({ action: 'add', todos: two })], [todos(done)]);
  const { request_id: id } = await scene.client.runs.start({ agent: 'careful', query: plan });
  const killed = await approvedOverKills(scene.client, id);
  expect([killed.length, killed.every((servers) => servers > 0)]).toEqual([2, true]);
  const last = JSON.stringify(scene.model.given(plan).at(-1)?.messages);
  expect(last).toMatch(/Updated item 1: two.*Progress: 1\/2 completed/);
});

test('the control tools are nothing for MCP clients of the service, a module’s tools are', async () => {
  const { tools } = await scene.client.tools();
  const exposed = (name: string): unknown => tools.find((tool) => tool.name === name)?.exposed;
  expect(exposed('ctl.complete')).toBe(false);
  expect(exposed('mine.remember')).toBeUndefined();
});

describe('a tool of a module', () => {
  const call = async (tool: string, args: object = {}) => {
    const ended = await scene.client.execute({ type: 'tool_exec', tool_name: tool, arguments: { ...args } });
    return ended.type === 'ai.tool.result' ? ended.data : null;
  };

  test('is listed like any other, and answers with typed directives', async () => {
    const { tools } = await scene.client.tools();
    expect(tools.find(({ name }) => name === 'mine.remember')).toMatchObject({
      effect: 'idempotent',
      directives: 'all',
      input_schema: { type: 'object', required: ['text'] },
    });
    const plan = planOf(
      'module',
      [['mine.remember', { text: 'tea' }]],
      [['mine.remember', { text: 'milk', end: true }]],
    );
    const story = await played(plan);
    expect(read(story, 1).at(-1)).toBe(anchor('note', 'tea'));
    expect(results(story)).toMatchObject([{ result: { remembered: 'tea', keys: ['state'] } }, {}]);
    expect(data(story, 'ai.tool.progress')).toMatchObject([{ progress: 1, total: 2, message: 'half' }, {}]);
    expect(story.run).toMatchObject({ status: 'completed', result: 'milk' });
  });

  test.each([
    ['arguments that do not fit', 'mine.remember', { text: '' }, 'validation_error', []],
    ['an unknown tool', 'mine.dance', {}, 'unknown_tool', []],
    ['a tool that fails, whose directives do not count', 'mine.fail', {}, 'not_found', ['error_result']],
    ['a tool that takes too long', 'hasty.hang', {}, 'timeout', []],
    ['directives that are none', 'mine.wrong', {}, null, ['unknown_type', 'invalid_params']],
    [
      'directives that the entry does not allow',
      'anchors.remember',
      { text: 'x', end: true },
      null,
      ['untrusted'],
    ],
  ])('%s', async (_what, tool, args, error, reasons) => {
    const ended = await call(tool, args);
    expect(ended?.result.ok === false ? ended.result.error.type : null).toBe(error);
    const rejected = (ended?.metadata['rejected_directives'] ?? []) as { reason: string }[];
    expect(rejected.map(({ reason }) => reason)).toEqual(reasons);
    if (tool === 'mine.wrong') expect(ended?.result.effects).toEqual([STOP]);
  });
});
