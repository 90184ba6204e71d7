/** How a call is repeated until Redis answers. The test controls the clock.
 *  It must never wait in real time. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { persistently } from '../../../../src/worker/record/durably.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function failing(times: number, message: string) {
  let calls = 0;
  const call = (): Promise<string> => {
    calls += 1;
    return calls <= times ? Promise.reject(new Error(message)) : Promise.resolve('answered');
  };
  return { call, calls: () => calls };
}

test.each([
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  "OOM command not allowed when used memory > 'maxmemory'.",
  'Connection is closed.',
])('tries again after "%s"', async (message) => {
  const redis = failing(3, message);
  const answer = persistently(redis.call);
  await vi.advanceTimersByTimeAsync(700);
  expect(await answer).toBe('answered');
  expect(redis.calls()).toBe(4);
});

test('tries less and less often, but at least every two seconds', async () => {
  const redis = failing(1_000, 'Connection is closed.');
  void persistently(redis.call);
  const callsAfter = async (ms: number): Promise<number> => {
    const before = redis.calls();
    await vi.advanceTimersByTimeAsync(ms);
    return redis.calls() - before;
  };
  await vi.advanceTimersByTimeAsync(0);
  expect(redis.calls()).toBe(1);
  expect(await callsAfter(99)).toBe(0);
  expect(await callsAfter(1)).toBe(1);
  expect(await callsAfter(200)).toBe(1);
  expect(await callsAfter(10_000)).toBeLessThan(9);
  expect(await callsAfter(20_000)).toBe(10);
});

test.each([
  'ERR wrong number of arguments',
  'WRONGTYPE Operation',
  'NOAUTH Authentication required.',
  'NOPERM no',
])('gives up after "%s": another try cannot help', async (message) => {
  const redis = failing(1, message);
  await expect(persistently(redis.call)).rejects.toThrow(message);
  expect(redis.calls()).toBe(1);
});

test('gives up on a bug', async () => {
  await expect(persistently(() => Promise.reject(new TypeError('no method')))).rejects.toThrow('no method');
});
