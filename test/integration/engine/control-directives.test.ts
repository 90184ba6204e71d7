/** The cases of control directives under their ids, end to end: a model, a run, a worker, and real servers that emit them.
 *  It must not call a handler or an extraction by itself: what a case shows is in a log, or in what the model was given. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { RunView } from '../../../src/contract/run.ts';
import type { Signal } from '../../../src/contract/signal.ts';
import { untilListed } from '../../support/eventually.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { planOf, type PlannedModel, type Round, startPlannedModel } from '../../support/planned-model.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const MODULE = fileURLToPath(new URL('../../support/modules/obeying.ts', import.meta.url));
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
    },
    providers: { local: { type: 'openai-compatible', base_url: model.url } },
    models: { fast: 'local:small', capable: 'local:large' },
    strategies: [MODULE],
    agents: {
      lead: { ...agent, options: { phases: PHASES } },
      own: { ...agent, strategy: 'obeying' },
      coder: { ...agent, description: 'Writes code' },
      tester: agent,
      short: { ...agent, limits: { max_iterations: 1 } },
      poor: { ...agent, limits: { max_tool_calls: 1 } },
    },
  };
  const service = await startService({ redisUrl: redis.url, config });
  await untilListed(service.url, 'ctl.todo_write', 'mute.complete', 'peer.say');
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
const results = ({ run }: Story): unknown[] =>
  run.messages.flatMap((message) =>
    message.role === 'tool' ? [JSON.parse(String(message['content'])) as unknown] : [],
  );
const anchor = (key: string, text: string): string => `[CONTEXT ANCHOR ${key}]\n${text}`;

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
      'S02 E16 a list is kept by the run: added to, changed, replaced; the model sees it in every later call',
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
      'S01 E05 E16 a handoff warns, clears the agent’s own items, changes the tier, stops the round',
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
        expect(read(story, 2)).toContain(warning);
        expect(read(story, 2).at(-1)).toContain('    [1] [ ] theirs\nProgress: 0/1 completed');
        expect(read(story, 3).at(-1)).toContain('    [0] [ ] theirs\n    [1] [ ] next');
        expect(data(story, 'agent.tier_changed')).toMatchObject([{ tier: 'capable', reason: 'hard' }]);
      },
    ],
    [
      'S01 a handoff of a list without items for others is refused',
      [[todos({ todos: [todo('mine')] })], [['ctl.handoff', HANDOFF]]],
      (story) => {
        const message = expect.stringContaining('No execution todos (with target_tier) found.') as unknown;
        expect(results(story)[1]).toMatchObject({ ok: false, error: { message } });
        expect(data(story, 'agent.tier_changed')).toEqual([]);
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
        expect(read(story, 2)).toContain(
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
      'S03 E08 prune_context keeps two results, or as many as it is told',
      [
        [
          ['peer.large', { bytes: 500 }],
          ['peer.large', { bytes: 501 }],
        ],
        [['ctl.prune_context', {}]],
        [['ctl.prune_context', { keep_recent: 0 }]],
      ],
      (story) => {
        const notes = (nth: number): number =>
          read(story, nth).filter((text) => String(text).startsWith('[Previous: ')).length;
        expect([1, 2, 3].map(notes)).toEqual([0, 1, 2]);
        expect(read(story, 3)).toContain('[Previous: peer.large result — 523 chars, pruned to save context]');
      },
    ],
    [
      'S04 an unknown tool is an error without directives',
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
