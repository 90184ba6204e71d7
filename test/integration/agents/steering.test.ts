/** What is sent to a run under way: inputs, decisions, and the next run of its conversation.
 *  It must not lose an accepted input, nor read one twice. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { DirectiveRefused } from '../../../src/contract/problem.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { begin } from '../../../src/agents/turn/beginning.ts';
import { createRunStore, TURN_SIZE } from '../../../src/agents/turn/run-store.ts';
import { createConversationJournal } from '../../../src/store/run/conversation-journal.ts';
import { echo, type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/pipeline.ts';
import { useRedis } from '../../support/shared.ts';
import { heard, types } from '../../support/run-log.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';
import { script, scriptedAgent, scriptedCore } from '../../support/scripted-strategy.ts';

const redis = useRedis();
let engines: EngineTest;

const AGENTS = [
  scriptedAgent(),
  scriptedAgent({ name: 'queueing', policies: { busy: 'queue' } }),
  scriptedAgent({ name: 'interrupting', policies: { busy: 'interrupt' } }),
];
beforeEach(async () => {
  engines = await openEngineTest(redis.url, { agents: AGENTS });
});
afterEach(async () => {
  await engines?.[Symbol.asyncDispose]();
});

async function refusalCode(call: Promise<unknown>): Promise<string> {
  return (await refusal(call)).code;
}

async function startRun(query: string, more: Record<string, unknown> = {}): Promise<string> {
  return (await engines.client.start({ agent: 'scripted', query, ...more })).request_id;
}

/** The inputs that the run's end names as unread: all of them where no model was called. */
function unread(log: readonly Signal[]): string[] {
  const end = log.find(({ type }) => type === 'ai.request.completed');
  return end?.type === 'ai.request.completed' ? (end.data.unread_inputs ?? []) : [];
}

async function status(id: string): Promise<string | undefined> {
  return (await engines.runs.head(id))?.status;
}

describe('an input', () => {
  test('is read once by the run in any state, also before its first turn, in the order of the inputs', async () => {
    const id = await startRun(script({ inputs: 3 }));
    const early = { input_id: 'i1', content: 'i1' };
    await Promise.all([engines.client.input(id, early), engines.client.input(id, early)]);
    expect(await engines.client.input(id, early)).toMatchObject({ queued: 1 });
    await engines.startEngine();
    for (const input_id of ['i2', 'i3'])
      expect(await engines.client.input(id, { input_id, content: input_id })).toMatchObject({ input_id });
    expect(heard(await engines.ended(id))).toEqual(
      ['i1', 'i2', 'i3'].map((name) => `ai.request.input ${name}`),
    );
  });

  test('is refused while 64 others wait, read or not, and accepted again when one is used', async () => {
    const engine = await engines.startEngine();
    const id = await startRun(script({ approval: 'ask' }, { model: 'm' }, { approval: 'ask-b' }));
    const give = (number: number) => engines.client.input(id, { input_id: `i${number}`, content: 'x' });
    for (let number = 1; number <= 40; number += 1) await give(number);
    await eventually(async () => (await engines.runs.head(id))?.unread).toBe(false);
    await engine.stop();
    for (let number = 41; number <= 64; number += 1)
      expect(await give(number)).toMatchObject({ queued: number });
    expect(await refusalCode(give(65))).toBe('input_queue_full');
    await engines.startEngine();
    await engines.client.decide(id, 'ask', { decision: 'deny' });
    await eventually(async () => (await give(66).catch(() => null))?.queued).toBe(1);
  });

  test('that was accepted just before the end is always read', async () => {
    await engines.startEngine();
    await engines.startWorker(echo);
    const client = engines.clientWith(async (requestId, version) => void engines.wake(requestId, version));
    let accepted = 0;
    for (let round = 0; round < 60; round += 1) {
      const { request_id: id } = await client.start({ agent: 'scripted', query: script({ tools: ['a'] }) });
      const given: string[] = [];
      let refused: string | null = null;
      for (let number = 0; refused === null; number += 1) {
        const input = client.input(id, { input_id: `i${number}`, content: 'x' });
        refused = await input.then(
          () => null,
          (error: DirectiveRefused) => error.problem.code,
        );
        if (refused === null) given.push(`i${number}`);
        if (refused === 'input_queue_full') refused = null;
      }
      expect(refused).toBe('request_closed');
      expect(unread(await engines.ended(id))).toEqual(given);
      accepted += given.length;
    }
    expect(accepted).toBeGreaterThan(60);
  });
});

describe('a decision', () => {
  test('that differs from another at the same time: one of them stays', async () => {
    await engines.startEngine();
    await engines.startWorker(echo);
    const id = await startRun(script({ approval: 'ask' }));
    await eventually(() => engines.log(id).then(types)).toContain('ai.tool.approval_requested');
    const decisions = (['approve', 'deny'] as const).map((decision) =>
      engines.client.decide(id, 'ask', { decision }).then(
        () => decision,
        () => null,
      ),
    );
    const stood = (await Promise.all(decisions)).filter((decision) => decision !== null);
    const log = await engines.ended(id);
    const decided = log.flatMap((signal) =>
      signal.type === 'ai.tool.approval_decided' ? [signal.data.decision] : [],
    );
    expect(stood).toEqual(decided);
  });
});

describe('a conversation', () => {
  const talk = { conversation_id: 'talk' };
  /** So many runs wait for their place. */
  const inLine = (runs: number) =>
    eventually(() => engines.connection.llen(engines.keys.conversation('talk')[1])).toBe(runs);
  /** A run that goes on until its call is denied. */
  const holdTalk = async (more: Record<string, unknown> = {}): Promise<string> => {
    const first = await startRun(script({ approval: 'ask' }), { ...talk, ...more });
    await eventually(() => status(first)).toBe('waiting');
    return first;
  };
  const release = (id: string) => engines.client.decide(id, 'ask', { decision: 'deny' });

  test('that is busy refuses the next run by default', async () => {
    await engines.startEngine();
    const first = await holdTalk();
    const second = await startRun(script({ tool_errors: ['x'] }), talk);
    const log = await engines.ended(second);
    expect(log.at(-1)).toMatchObject({ type: 'ai.request.failed', data: { error: { type: 'busy' } } });
    await release(first);
    await engines.ended(first);
    const third = await startRun(script({ tool_errors: ['x'] }), talk);
    expect(heard(await engines.ended(third))).toHaveLength(1);
  });

  test('wakes the next run also while a job of that one is handled that has found the conversation busy', async () => {
    const engine = await engines.startEngine();
    const first = await holdTalk({ agent: 'queueing' });
    const second = await startRun(script({ tool_errors: ['x'] }), { ...talk, agent: 'queueing' });
    await inLine(1);
    await eventually(() => engines.jobs('run')).toBe(0);
    await engine.stop();
    await engines.wake(second, 0);
    const prefix = lanePrefix(engines.keys.prefix, 'run');
    const handling = new Worker('run', null, { connection: { host: '127.0.0.1', port: redis.port }, prefix });
    expect((await handling.getNextJob('held'))?.data).toMatchObject({ request_id: second });
    await engines.startEngine();
    await release(first);
    expect(heard(await engines.ended(second))).toHaveLength(1);
    await handling.close();
  });

  test('lets runs wait in line, and gives each the history of those before', async () => {
    await engines.startEngine();
    const first = await holdTalk({ agent: 'queueing' });
    const query = script({ tool_errors: ['x'] });
    const waiting: string[] = [];
    for (let number = 0; number < 3; number += 1) {
      waiting.push(await startRun(query, { ...talk, agent: 'queueing', request_id: `w${number}` }));
      await inLine(number + 1);
    }
    expect(await Promise.all(waiting.map(status))).toEqual(['pending', 'pending', 'pending']);
    await release(first);
    const logs = await Promise.all(waiting.map((id) => engines.ended(id)));
    const begun = logs.map((log) => Date.parse(log[0]?.time ?? ''));
    expect(begun).toEqual(begun.toSorted((left, right) => left - right));
    const { view } = (await engines.client.view('w2')) ?? {};
    const exchange = ['user', 'assistant'];
    expect(view?.messages.map(({ role }) => role)).toEqual(Array(4).fill(exchange).flat());
  });

  test('is interrupted if the next run asks for it', async () => {
    await engines.startEngine();
    const first = await holdTalk();
    const second = await startRun(script({ tool_errors: ['x'] }), { ...talk, agent: 'interrupting' });
    expect(heard(await engines.ended(second))).toHaveLength(1);
    expect(await status(first)).toBe('cancelled');
  });

  test('goes on without a run that was cancelled while it waited', async () => {
    await engines.startEngine();
    const first = await holdTalk({ agent: 'queueing' });
    const query = script({ tool_errors: ['x'] });
    const second = await startRun(query, { ...talk, agent: 'queueing' });
    await inLine(1);
    const third = await startRun(query, { ...talk, agent: 'queueing' });
    await inLine(2);
    await engines.requests.cancel(second);
    await engines.ended(second);
    expect(await status(second)).toBe('cancelled');
    await inLine(1);
    expect(await engines.connection.get(engines.keys.conversation('talk')[0])).toBe(first);
    expect(await status(third)).toBe('pending');
    await release(first);
    expect(heard(await engines.ended(third))).toHaveLength(1);
  });

  test('goes on when its active run is lost', async () => {
    await engines.startEngine();
    const first = await holdTalk();
    await engines.connection.del(...engines.keys.request(first));
    const second = await startRun(script({ tool_errors: ['x'] }), talk);
    expect(heard(await engines.ended(second))).toHaveLength(1);
  });

  test('ends a run that waits in it past its deadline', async () => {
    const engine = await engines.startEngine();
    await holdTalk();
    // Later than its first turn, on a busy machine too.
    const overrides = { limits: { deadline_ms: 800 }, busy: 'queue' };
    const second = await startRun(script({ tool_errors: ['x'] }), { ...talk, overrides });
    await inLine(1);
    await engines.sweeper().start();
    await engines.ended(second);
    expect(await status(second)).toBe('timeout');
    await inLine(0);
    await engine.stop();
  });

  test('keeps its history for a while, and then nothing', async () => {
    await engines.startEngine();
    await engines.ended(await startRun(script({ tool_errors: ['x'] }), talk));
    const [active, waiting, history] = engines.keys.conversation('talk');
    await eventually(() => engines.connection.exists(active, waiting)).toBe(0);
    expect(await engines.connection.pttl(history)).toBeGreaterThan(0);
  });
});

describe('a cancellation', () => {
  test('does not acknowledge a run that is started during its check', async () => {
    const send = Redis.prototype.sendCommand;
    let isStarted = false;
    const late = startRun.bind(null, script({ inputs: 1 }), { request_id: 'r-late' });
    vi.spyOn(Redis.prototype, 'sendCommand').mockImplementation(function (this: Redis, ...sent) {
      const replied = send.apply(this, sent) as Promise<unknown>;
      if (isStarted || !JSON.stringify(sent[0].args).includes('r-late')) return replied;
      isStarted = true;
      // The first check has its answer, and now the run is started.
      return replied.then(async (reply) => {
        await late();
        return reply;
      });
    });
    expect(await refusalCode(engines.requests.cancel('r-late'))).toBe('not_found');
    vi.restoreAllMocks();
    expect(isStarted).toBe(true);
    expect(await status('r-late')).toBe('pending');
    await engines.requests.cancel('r-late');
    await engines.startEngine();
    expect(types(await engines.ended('r-late'))).toContain('ai.request.cancel_requested');
  });

  test('that one engine reads while another begins the run leaves the conversation to the run', async () => {
    const id = await startRun(script({ inputs: 1 }), { conversation_id: 'overtaken' });
    const { connection, keys, runs } = engines;
    const conversations = createConversationJournal({ connection, keys, retentionMs: 60_000 });
    // The other engine is about to write its first turn.
    expect(await conversations.enter('overtaken', id, true)).toMatchObject({ kind: 'active' });
    await engines.client.cancel(id, 'enough');
    const run = await createRunStore(runs).read(id, TURN_SIZE);
    if (run === null) throw new Error('the run is unknown');
    const parts = { core: scriptedCore(), logger: SILENT, agents: engines.agents, toolsOf: async () => [] };
    const beginning = await begin({ ...parts, conversations, runs, interrupt: async () => {} }, run);
    expect(beginning.kind).toBe('refused');
    expect(await conversations.enter('overtaken', 'next', true)).toEqual({ kind: 'waiting', active: id });
  });
});
