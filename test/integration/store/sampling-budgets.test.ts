/** Budgets of what tools ask of models, on a real Redis: what passes, what is given back, and what a repeat changes.
 *  It must never need a worker. */
import { expect, test } from 'vitest';
import { createSamplingBudgets } from '../../../src/store/limits/sampling-budgets.ts';
import { prepareScripts } from '../../../src/store/scripts.ts';
import { openStore } from '../../support/store.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = shared(() => openStore(redis.url));
const budgets = () =>
  createSamplingBudgets(open.connection, open.keys, (error) => {
    throw error;
  });
const limits = { requestsPerCall: 3, tokensPerCall: 100, tokensPerDay: 250 };
const call = (server: string, id: string, remainingMs = 0) => ({ server, requestId: 'r', id, remainingMs });
const tokensOf = async (server: string) => open.connection.hget(open.keys.sampling(server, '')[0], 'tokens');

test('requests at once take no more than the budget of their call holds, from any worker', async () => {
  const [one, other] = [budgets(), budgets()];
  const asked = Array.from({ length: 20 }, async (_, index) =>
    (index % 2 === 0 ? one : other).reserve(call('both', 'c'), limits, 40),
  );
  const answers = await Promise.all(asked);
  expect(answers.filter(({ ok }) => ok)).toHaveLength(2);
  expect(answers.find(({ ok }) => !ok)).toMatchObject({ spent: 'call' });
  expect(await tokensOf('both')).toBe('80');
});

test('what was not used is given back, once; the requests of a call are not', async () => {
  const { reserve } = budgets();
  for (const used of [10, 5, 0]) {
    const reserved = await reserve(call('used', 'c'), limits, 80);
    if (!reserved.ok) throw new Error(reserved.spent);
    reserved.settle(used);
    reserved.settle(used);
  }
  expect(await reserve(call('used', 'c'), limits, 1)).toMatchObject({ ok: false, spent: 'requests' });
  expect(await tokensOf('used')).toBe('15');
});

test('a day holds over calls, and what a dead worker has reserved stays taken', async () => {
  const { reserve } = budgets();
  for (const id of ['a', 'b'])
    expect(await reserve(call('day', id), limits, 100)).toMatchObject({ ok: true });
  const refused = await reserve(call('day', 'c'), limits, 51);
  expect(refused).toMatchObject({ ok: false, spent: 'day' });
  expect('leftMs' in refused && refused.leftMs > 0 && refused.leftMs <= 86_400_000).toBe(true);
  expect(await reserve(call('day', 'c'), limits, 50)).toMatchObject({ ok: true });
});

test('another day begins with nothing taken, and yesterday’s request does not change it', async () => {
  const { reserve } = budgets();
  const reserved = await reserve(call('old', 'c'), limits, 100);
  const [day] = open.keys.sampling('old', '');
  await open.connection.hset(day, 'day', '1', 'tokens', '250');
  expect(await reserve(call('old', 'd'), limits, 60)).toMatchObject({ ok: true });
  expect(await tokensOf('old')).toBe('60');
  await open.connection.hset(day, 'day', '1');
  if (reserved.ok) reserved.settle(1);
  await open.connection.ping();
  expect(await tokensOf('old')).toBe('60');
});

test('a clock that goes back over midnight begins no second budget of a day; one that was far ahead refuses nobody', async () => {
  const { reserve } = budgets();
  await reserve(call('back', 'c'), limits, 100);
  const [day] = open.keys.sampling('back', '');
  const today = Number(await open.connection.hget(day, 'day'));
  await open.connection.hset(day, 'day', today + 1, 'tokens', 200);
  const refused = await reserve(call('back', 'd'), limits, 60);
  expect(refused).toMatchObject({ ok: false, spent: 'day' });
  expect('leftMs' in refused && refused.leftMs > 86_400_000).toBe(true);
  const reserved = await reserve(call('back', 'd'), limits, 50);
  if (reserved.ok) reserved.settle(10);
  await open.connection.ping();
  expect(await open.connection.hmget(day, 'day', 'tokens')).toEqual([String(today + 1), '210']);
  await open.connection.hset(day, 'day', today + 2);
  expect(await reserve(call('back', 'e'), limits, 60)).toMatchObject({ ok: true });
});

test('the budget of a call outlives the wait for a person: it is kept until a day after the deadline', async () => {
  const weekMs = 7 * 86_400_000;
  await budgets().reserve(call('kept', 'c', weekMs), limits, 10);
  const [key = ''] = await open.connection.keys(`${open.keys.prefix}:{sampling:kept}:call:*`);
  const leftMs = await open.connection.pttl(key);
  expect(leftMs > weekMs && leftMs <= weekMs + 86_400_000).toBe(true);
});

test('a reservation that is repeated after a lost connection counts once', async () => {
  const run = prepareScripts(open.connection);
  const keys = open.keys.sampling('again', 'c');
  for (const _ of [1, 2])
    expect(await run('sampling-reserve', keys, ['one', 70, 3, 100, 250, 60_000])).toEqual(['ok']);
  expect(await open.connection.hmget(keys[1], 'requests', 'tokens')).toEqual(['1', '70']);
});
