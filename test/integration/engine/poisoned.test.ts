/** Runs that no turn can process, with invalid or damaged data. Each ends once and frees its conversation.
 *  It must not rely on the core that a poisoned run has broken. */
import { Queue } from 'bullmq';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { DirectiveRefused } from '../../../src/contract/problem.ts';
import type { Signal } from '../../../src/contract/signal.ts';
import { createCore } from '../../../src/engine/core/core.ts';
import { defineStrategy } from '../../../src/engine/strategies/strategy.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { newTraceparent } from '../../../src/telemetry/trace-context.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { useRedis } from '../../support/shared.ts';
import { types } from '../../support/run-log.ts';

const NO_MESSAGE = { role: 'assistant', tool_calls: {} };

/** Waits for input, and completes with it. */
const listening = defineStrategy({
  name: 'listening',
  init: () => null,
  reduce(state, signal) {
    if (signal.type !== 'ai.request.input') return { state, awaits: 'input' };
    return { state, outcome: { status: 'completed', result: signal.data.content } };
  },
});

/** Changes read-only data in place, which nobody sees before the next turn. */
const careless = defineStrategy({
  name: 'careless',
  init: () => null,
  reduce(state, _signal, { messages }) {
    Object.assign(messages[0] ?? {}, NO_MESSAGE);
    return { state, awaits: 'input' };
  },
});

const nothing = defineStrategy({
  name: 'nothing',
  init: () => null,
  reduce: (state) => ({ state, messages: [null] as never }),
});

/** Its options become a value that no document can hold. */
const unsayable = defineStrategy({
  name: 'unsayable',
  options: z.unknown().transform(() => 1n) as never,
  init: () => null,
  reduce: (state) => ({ state, awaits: 'input' }),
});

const AGENTS = [
  { name: 'listening', strategy: 'listening' },
  { name: 'careless', strategy: 'careless' },
  { name: 'nothing', strategy: 'nothing' },
  { name: 'unsayable', strategy: 'unsayable' },
  { name: 'queueing', strategy: 'listening', policies: { busy: 'queue' as const } },
];

const redis = useRedis();
let engines: EngineTest;
beforeEach(async () => {
  const core = createCore({ strategies: [listening, careless, nothing, unsayable] });
  engines = await openEngineTest(redis.url, { agents: AGENTS, core });
});
afterEach(async () => {
  await engines?.[Symbol.asyncDispose]();
});

function failure(log: readonly Signal[]) {
  const ends = log.filter(({ type }) => type === 'ai.request.failed' || type === 'ai.request.completed');
  expect(ends, types(log).join(' ')).toHaveLength(1);
  const [end] = ends;
  return end?.type === 'ai.request.failed' ? (end.data.error as { type: string; message: string }) : null;
}

/** As an API without checks would have accepted it. */
async function startUnchecked(id: string, spec: Record<string, unknown>): Promise<void> {
  const whole = {
    request_id: id,
    run_id: id,
    agent: 'listening',
    query: 'hi',
    messages: [{ role: 'user', content: 'hi' }],
    overrides: {},
    metadata: {},
    conversation_id: null,
    parent: null,
    ...spec,
  };
  await engines.runs.start({
    requestId: id,
    digest: 'd',
    agent: whole.agent,
    spec: JSON.stringify(whole),
    traceparent: newTraceparent(),
  });
  await engines.wake(id, 0);
}

async function startRun(agent: string, more: Record<string, unknown> = {}): Promise<string> {
  return (await engines.client.start({ agent, query: 'hi', ...more })).request_id;
}

async function waits(id: string): Promise<void> {
  await eventually(async () => (await engines.runs.head(id))?.status).toBe('waiting');
}

/** The conversation is free: a run in it begins, and reads its input. */
async function expectFree(conversation_id: string): Promise<void> {
  const id = await startRun('listening', { conversation_id });
  await waits(id);
  await engines.client.input(id, { content: 'free' });
  expect(failure(await engines.ended(id))).toBeNull();
}

describe('the API', () => {
  test.each([
    [[NO_MESSAGE], 'messages[0].tool_calls'],
    [[{ role: 'user', content: 'hi' }, null], 'messages[1]'],
    [
      [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'x' } }] }],
      'messages[0].tool_calls[0].name',
    ],
  ])('refuses %j and names the path', async (messages, path) => {
    const refused = await engines.client
      .start({ agent: 'listening', messages } as never)
      .catch((e: unknown) => e);
    expect(refused).toBeInstanceOf(DirectiveRefused);
    const { problem } = refused as DirectiveRefused;
    expect(problem).toMatchObject({ code: 'invalid_body', status: 400 });
    expect(problem.errors?.[0]?.path).toBe(path);
  });
});

describe('a run with an invalid message', () => {
  test('ends at its first turn and frees its conversation', async () => {
    await engines.startEngine();
    await startUnchecked('begin', { messages: [NO_MESSAGE], conversation_id: 'c' });
    const log = await engines.ended('begin');
    expect(failure(log)?.type).toBe('internal_error');
    await expectFree('c');
    await eventually(() => engines.index.size()).toBe(0);
  });

  test('can be cancelled before it begins', async () => {
    await startUnchecked('cancelled', { messages: [NO_MESSAGE] });
    await engines.client.cancel('cancelled', 'enough');
    await engines.startEngine();
    expect(failure(await engines.ended('cancelled'))?.type).toBe('cancelled');
  });

  test('names the path if its strategy returned it', async () => {
    await engines.startEngine();
    const error = failure(await engines.ended(await startRun('nothing')));
    expect(error).toMatchObject({ type: 'strategy_error', message: expect.stringContaining('messages[0]') });
  });

  test('or with a value that no document can hold, ends', async () => {
    await engines.startEngine();
    const id = await startRun('unsayable', { conversation_id: 'c' });
    expect(failure(await engines.ended(id))?.type).toBe('internal_error');
    await expectFree('c');
  });

  test.each(['cancel', 'deadline'])('ends when its %s breaks it', async (by) => {
    await engines.startEngine();
    const overrides = { limits: { deadline_ms: by === 'deadline' ? 1 : 60_000 } };
    const id = await startRun('careless', { conversation_id: 'c', overrides });
    if (by !== 'deadline') await waits(id);
    if (by === 'cancel') await engines.client.cancel(id, 'enough');
    if (by === 'deadline') await endAtDeadline(id);
    expect(failure(await engines.ended(id))?.type).toBe('internal_error');
    // It leaves its conversation right after its end.
    await eventually(async () => (await engines.runs.head(id))?.outbox).toBe(0);
    await expectFree('c');
  });
});

/** The sweeper checks at once. */
async function endAtDeadline(id: string): Promise<void> {
  await eventually(async () => {
    await engines.connection.zadd(engines.keys.sweep, 'XX', 1, `${id}/@run`);
    await engines.sweeper().sweep();
    return (await engines.runs.head(id))?.ended;
  }).toBe(true);
}

describe('a run that cannot be read', () => {
  const DAMAGES: [string, (bodies: string) => Promise<unknown>][] = [
    ['document is no JSON', (bodies) => engines.connection.hset(bodies, '@run', '{"status":')],
    ['document is no document', (bodies) => engines.connection.hset(bodies, '@run', '[]')],
    ['document is empty inside', (bodies) => emptied(bodies)],
    ['document is lost', (bodies) => engines.connection.hdel(bodies, '@run')],
    ['spec is lost', (bodies) => engines.connection.hdel(bodies, '@spec')],
    ['spec is no spec', (bodies) => engines.connection.hset(bodies, '@spec', '{"agent":7}')],
  ];

  async function emptied(bodies: string): Promise<void> {
    const document = JSON.parse((await engines.connection.hget(bodies, '@run')) ?? '') as object;
    await engines.connection.hset(bodies, '@run', JSON.stringify({ ...document, inner: {} }));
  }

  /** Waits in the conversation `c`, and no engine has it in memory. */
  async function damaged(
    damage: (bodies: string) => Promise<unknown>,
    deadline_ms = 60_000,
  ): Promise<string> {
    const engine = await engines.startEngine();
    const overrides = { limits: { deadline_ms } };
    const id = await startRun('listening', { conversation_id: 'c', overrides });
    await waits(id);
    await engine.stop();
    await damage(engines.keys.request(id)[1]);
    await engines.startEngine();
    return id;
  }

  test.each(DAMAGES)('because its %s ends when it is cancelled', async (_name, damage) => {
    const id = await damaged(damage);
    await engines.client.cancel(id, 'enough');
    const log = await engines.ended(id);
    expect(failure(log)?.type).toBe('internal_error');
    expect((await engines.client.view(id))?.view).toMatchObject({
      status: 'failed',
      error: { type: 'internal_error' },
    });
    await expectFree('c');
    expect(await engines.journal.head(id)).toMatchObject({ status: 'closed', open: 0 });
  });

  test('ends at its deadline, and lets the next run of its conversation begin', async () => {
    const id = await damaged((bodies) => engines.connection.hset(bodies, '@run', 'x'), 1_000);
    const next = await startRun('queueing', { conversation_id: 'c' });
    await endAtDeadline(id);
    expect(failure(await engines.ended(id))?.type).toBe('internal_error');
    await waits(next);
  });

  test('and has ended writes no more signals', async () => {
    const engine = await engines.startEngine();
    const id = await startRun('listening');
    await waits(id);
    await engines.client.input(id, { content: 'done' });
    await engines.ended(id);
    await engine.stop();
    const [state, bodies] = engines.keys.request(id);
    await engines.connection.hset(bodies, '@run', 'x');
    await engines.connection.hset(state, '@run|outbox', '1');
    await engines.startEngine();
    await engines.wake(id, 0);
    await eventually(async () => (await engines.runs.head(id))?.outbox).toBe(0);
    expect(failure(await engines.log(id))).toBeNull();
    expect((await engines.runs.head(id))?.status).toBe('completed');
  });
});

test.each(['no JSON', '[null]', '{}', '[{"role":"assistant","tool_calls":{}}]'])(
  'a conversation whose history is %s ends one run, not all',
  async (history) => {
    await engines.startEngine();
    await engines.connection.set(engines.keys.conversation('c')[2], history);
    const id = await startRun('listening', { conversation_id: 'c' });
    expect(failure(await engines.ended(id))?.type).toBe('internal_error');
    await expectFree('c');
  },
);

test('jobs that somebody else has added to the lane of runs are dropped, each with a line that names it', async () => {
  const stranger = new Queue('run', {
    connection: engines.connection,
    prefix: lanePrefix(engines.prefix, 'run'),
  });
  const junk = [{}, null, 'text', { request_id: 7, id: '@run/0', digest: '' }, { request_id: 'r' }];
  for (const [at, data] of junk.entries()) await stranger.add('junk', data, { jobId: `junk-${at}` });
  await engines.startEngine();
  const id = await startRun('listening');
  await waits(id);
  await eventually(() => stranger.getJobCountByTypes('wait', 'active', 'delayed', 'failed')).toBe(0);
  // BullMQ gives a job out again whose worker was not heard in time, which a busy machine may cause.
  const dropped = engines.errors.map(({ message }) => message).filter((line) => line.startsWith('the job'));
  expect([...new Set(dropped)].toSorted()).toEqual(
    junk.map((_, at) => `the job junk-${at} of the lane run names no directive, and was dropped`),
  );
  await stranger.close();
});
