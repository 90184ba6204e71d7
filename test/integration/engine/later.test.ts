/** Runs that begin later, on a real Redis: none before its instant, each once, and those that come too late never.
 *  It must never judge an instant by another clock than that of Redis. */
import { afterEach, beforeEach, expect, test } from 'vitest';
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
  expect(await engines.client.view(id)).toMatchObject({
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
