/** Runs that begin later, on a real Redis: none before its instant, each once, and those that come too late never.
 *  It must never judge an instant by another clock than that of Redis. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRunNotifier } from '../../../src/agents/run-notifier.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/pipeline.ts';
import { script } from '../../support/scripted-strategy.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
let engines: EngineTest;

beforeEach(async () => {
  engines = await openEngineTest(redis.url);
});
afterEach(async () => {
  await engines?.[Symbol.asyncDispose]();
});

async function start(more: Record<string, unknown>): Promise<string> {
  return (await engines.client.start({ agent: 'scripted', query: script({ inputs: 0 }), ...more }))
    .request_id;
}

/** The run's end, as its log has it. */
async function endOf(id: string): Promise<unknown> {
  return (await engines.ended(id)).at(-1);
}

test('a run begins after its delay, once, however often an engine is woken before', async () => {
  await engines.startEngine();
  const id = await start({ delay_ms: 700 });
  const begin = (await engines.runs.head(id))?.begin?.at ?? Infinity;
  await engines.wake(id, 0);
  expect((await engines.client.view(id))?.view).toMatchObject({
    status: 'pending',
    begins_at: new Date(begin).toISOString(),
  });
  expect(await engines.later.counts()).toEqual(new Map([['run', 1]]));
  await engines.sweeper().start();
  expect(await endOf(id)).toMatchObject({ type: 'ai.request.completed' });
  const [turn = ''] = await engines.connection.hmget(engines.keys.request(id)[0], '@run|turn1');
  expect(Number(turn?.split(' ')[0])).toBeGreaterThanOrEqual(begin);
  expect(await engines.later.size()).toBe(0);
});

test('a run that waits for its instant ends when it is cancelled, and leaves nothing that waits', async () => {
  await engines.startEngine();
  const id = await start({ delay_ms: 86_400_000 });
  await engines.client.cancel(id, 'no more need');
  expect(await endOf(id)).toMatchObject({ type: 'ai.request.failed' });
  expect((await engines.runs.head(id))?.status).toBe('cancelled');
  await eventually(() => engines.later.size()).toBe(0);
});

describe('a run that waits for its instant, and is cancelled', () => {
  async function due(id: string): Promise<void> {
    expect(await engines.connection.zscore(engines.keys.sweep, `${id}/@run`)).not.toBeNull();
    await engines.connection.zadd(engines.keys.sweep, 1, `${id}/@run`);
  }

  test('ends soon, though whoever cancelled it died before it woke an engine', async () => {
    const id = await start({ delay_ms: 86_400_000 });
    const { runs, index } = engines;
    await createRunNotifier(runs, () => Promise.resolve(), index).cancel(id, null);
    await due(id);
    await engines.startEngine();
    await engines.sweeper().sweep();
    expect(await endOf(id)).toMatchObject({ type: 'ai.request.failed' });
  });

  test('is forgotten soon, though the engine that ended it died then', async () => {
    await engines.startEngine();
    const id = await start({ delay_ms: 86_400_000 });
    const { connection, keys } = engines;
    const [waits] = keys.later;
    await connection.rename(waits, `${keys.prefix}:aside`);
    await connection.set(waits, 'what an engine that died does not change');
    await engines.client.cancel(id, null);
    await endOf(id);
    await connection.rename(`${keys.prefix}:aside`, waits);
    await due(id);
    await engines.sweeper().sweep();
    expect([await engines.later.size(), await engines.later.counts()]).toEqual([0, new Map()]);
  });
});

test('a run that nobody has begun in time ends expired', async () => {
  const id = await start({ start_by_ms: 1 });
  const by = (await engines.runs.head(id))?.begin?.by ?? Infinity;
  await eventually(async () => Number((await engines.connection.time())[0]) * 1000).toBeGreaterThan(by);
  await engines.startEngine();
  await engines.sweeper().start();
  await engines.wake(id, 0);
  expect(await endOf(id)).toMatchObject({
    type: 'ai.request.failed',
    data: { error: { type: 'expired', details: { start_by_ms: 1 } } },
  });
});

test('both a delay and an instant are refused', async () => {
  const both = start({ delay_ms: 1, run_at: new Date().toISOString() });
  expect(await refusal(both)).toMatchObject({ code: 'invalid_body', errors: [{ path: 'run_at' }] });
});
