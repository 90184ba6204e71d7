/** The circuit breaker of a lane: when it opens, how long it stays open, and that it closes by itself. */
import { expect, test } from 'vitest';
import { createCircuitBreaker } from '../../../src/worker/circuit-breaker.ts';

function breaker() {
  let at = 0;
  const changes: [string, number | null][] = [];
  const made = createCircuitBreaker({
    threshold: 3,
    firstPauseMs: 1_000,
    longestPauseMs: 4_000,
    now: () => at,
    onChange: (lane, pauseMs) => void changes.push([lane, pauseMs]),
  });
  return { ...made, changes, pass: (ms: number) => void (at += ms) };
}

test('single failures pass; the third in a row stops the lane', () => {
  const lane = breaker();
  expect([lane.unreached('a'), lane.unreached('a')]).toEqual([null, null]);
  expect(lane.unreached('a')).toBe(1_000);
  expect(lane.changes).toEqual([['a', 1_000]]);
});

test('a reached server in between restarts the count', () => {
  const lane = breaker();
  lane.unreached('a');
  lane.unreached('a');
  lane.reached('a');
  expect(lane.unreached('a')).toBeNull();
  expect(lane.changes).toEqual([]);
});

test('calls that fail while the lane is stopped wait for its end and do not prolong it', () => {
  const lane = breaker();
  for (let failures = 0; failures < 3; failures += 1) lane.unreached('a');
  lane.pass(400);
  expect(lane.unreached('a')).toBe(600);
  expect(lane.changes).toHaveLength(1);
});

test('each further failure doubles the pause, up to the longest', () => {
  const lane = breaker();
  lane.unreached('a');
  lane.unreached('a');
  const pauses = Array.from({ length: 4 }, () => {
    const pauseMs = lane.unreached('a');
    lane.pass(pauseMs ?? 0);
    return pauseMs;
  });
  expect(pauses).toEqual([1_000, 2_000, 4_000, 4_000]);
});

test('a reached server opens the lane again, and lanes do not touch each other', () => {
  const lane = breaker();
  for (let failures = 0; failures < 3; failures += 1) lane.unreached('a');
  expect(lane.unreached('b')).toBeNull();
  lane.reached('a');
  expect(lane.changes).toEqual([
    ['a', 1_000],
    ['a', null],
  ]);
  expect(lane.unreached('a')).toBeNull();
});

test('a server that is known to be down stops its lane until it is up, whatever calls find', () => {
  const lane = breaker();
  lane.down('a', 900);
  lane.down('a', 2_000);
  expect(lane.changes).toEqual([['a', Infinity]]);
  expect([lane.unreached('a'), lane.downForMs('a'), lane.downForMs('b')]).toEqual([2_000, 2_000, null]);
  // A call that was under way before the server went down has succeeded.
  lane.reached('a');
  lane.pass(5_000);
  expect(lane.downForMs('a')).toBe(250);
  lane.up('a');
  lane.up('a');
  expect(lane.downForMs('a')).toBeNull();
  expect(lane.changes).toEqual([
    ['a', Infinity],
    ['a', null],
  ]);
});

test('reading how long a lane is stopped counts nothing', () => {
  const lane = breaker();
  expect(lane.stoppedForMs('a')).toBeNull();
  for (let failures = 0; failures < 3; failures += 1) lane.unreached('a');
  lane.pass(400);
  expect([lane.stoppedForMs('a'), lane.stoppedForMs('a'), lane.stoppedForMs('b')]).toEqual([600, 600, null]);
  lane.pass(600);
  expect(lane.stoppedForMs('a')).toBeNull();
});
