/** Reading what servers say of tasks, and when they are asked next.
 *  It must never need a server. */
import { expect, test } from 'vitest';
import {
  decodeTask,
  encodeTask,
  expiryOf,
  nextPollMs,
  pollMsAfter,
  readTask,
} from '../../../../src/mcp/tasks/task.ts';

const TASK = { taskId: 't', status: 'working' };

test.each([
  [undefined, 1_000],
  [0, 250],
  [-1, 250],
  [Number.NaN, 1_000],
  ['5000', 1_000],
  [5_000, 5_000],
  [1e12, 60_000],
])('a server that wants to be asked every %s ms is asked after %s ms', (pollIntervalMs, pollMs) => {
  expect(readTask({ ...TASK, pollIntervalMs })?.pollMs).toBe(pollMs);
});

test.each([[null], [-1], ['60'], [Number.NaN]])('a time to live of %s is none', (ttlMs) => {
  expect(readTask({ ...TASK, ttlMs })?.ttlMs).toBeNull();
});

test('texts are cut, and what is of another form is not there', () => {
  const task = readTask({ ...TASK, statusMessage: 'x'.repeat(5_000), createdAt: 5 });
  expect([task?.message?.length, task?.createdAt]).toEqual([1_000, null]);
});

test('a server that forgets sooner than it wants to be asked is asked in time', () => {
  const expiresAt = expiryOf({ begunAt: 1_000 }, { ttlMs: 10_000 }, 1_000);
  expect([nextPollMs(60_000, expiresAt, 1_000), nextPollMs(60_000, expiresAt, 20_000)]).toEqual([5_000, 250]);
  expect(nextPollMs(60_000, Infinity, 1_000)).toBe(60_000);
});

test('the time of a task that is reported after it is over is counted again', () => {
  const task = { begunAt: 1_000 };
  expect(expiryOf(task, { ttlMs: 10_000 }, 11_000)).toBe(21_000);
  expect(expiryOf(task, { ttlMs: null }, 11_000)).toBe(Infinity);
});

test('a server that does not answer is asked less and less often', () => {
  expect([0, 1, 2, 100].map((failures) => pollMsAfter(1_000, failures))).toEqual([
    1_000, 2_000, 4_000, 60_000,
  ]);
});

test('what is written down is read back; anything else is none', () => {
  const task = { id: 'a "b" é', createdAt: 'now', begunAt: 5, endpoint: 'e' };
  expect(decodeTask(encodeTask(task))).toEqual(task);
  const others = ['', 'x', 'null', '[]', '{}', '{"id":1,"begun_at":2}', '{"id":"a","begun_at":"2"}'];
  expect(others.map(decodeTask)).toEqual(others.map(() => null));
});
