/** The attempts that a process runs, and how each is stopped.
 *  It must never stop another attempt than the intended one. */
import { expect, test } from 'vitest';
import { createRunningAttempts } from '../../../../src/worker/attempt/running-attempts.ts';

const ref = (id: string, fence = 1) => ({ requestId: 'r', id, fence });

test('the first reason to stop stands', () => {
  const attempt = createRunningAttempts().begin(ref('a'));
  expect(attempt.stopReason()).toBeNull();
  attempt.stop('cancelled');
  attempt.stop('shutdown');
  expect(attempt.stopReason()).toBe('cancelled');
  expect(attempt.signal.aborted).toBe(true);
});

test('one directive is stopped by its identity, the others go on', () => {
  const running = createRunningAttempts();
  const [a, b] = [running.begin(ref('a')), running.begin(ref('b'))];
  expect(running.stop('r', 'a', 'cancelled')).toBe(true);
  expect(running.stop('r', 'c', 'cancelled')).toBe(false);
  expect([a.stopReason(), b.stopReason()]).toEqual(['cancelled', null]);
});

test('a cancellation that is heard before its attempt begins stops it as it begins', () => {
  const running = createRunningAttempts();
  expect(running.stop('r', 'a', 'cancelled')).toBe(false);
  expect(running.stop('r', 'b', 'shutdown')).toBe(false);
  const [a, b, c] = [running.begin(ref('a')), running.begin(ref('b')), running.begin(ref('c'))];
  expect([a.stopReason(), a.signal.aborted, b.stopReason(), c.stopReason()]).toEqual([
    'cancelled',
    true,
    null,
    null,
  ]);
});

test('of cancellations of others only the newest are remembered', () => {
  const running = createRunningAttempts();
  for (let number = 0; number <= 4_096; number += 1) running.stop('r', `${number}`, 'cancelled');
  expect(running.begin(ref('0')).stopReason()).toBeNull();
  expect(running.begin(ref('1')).stopReason()).toBe('cancelled');
});

test('a stop reaches all that run, and none that ended', () => {
  const running = createRunningAttempts();
  const [a, b] = [running.begin(ref('a')), running.begin(ref('b'))];
  a.end();
  running.stopAll('shutdown');
  expect([a.stopReason(), b.stopReason()]).toEqual([null, 'shutdown']);
  expect(running.count()).toBe(1);
});

test('an attempt that begins after everything was stopped is stopped at once', () => {
  const running = createRunningAttempts();
  expect(running.isStopped()).toBe(false);
  running.stopAll('shutdown');
  expect(running.isStopped()).toBe(true);
  const late = running.begin(ref('late'));
  expect([late.stopReason(), late.signal.aborted]).toEqual(['shutdown', true]);
});

test('the end of an old attempt does not hide a new one of the same directive', () => {
  const running = createRunningAttempts();
  const old = running.begin(ref('a', 1));
  const young = running.begin(ref('a', 2));
  old.end();
  expect(running.stop('r', 'a', 'cancelled')).toBe(true);
  expect(young.stopReason()).toBe('cancelled');
});
