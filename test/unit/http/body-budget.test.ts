/** Which bodies are refused while others are being received.
 *  It must not need a connection. */
import { describe, expect, test } from 'vitest';
import { createBodyBudget, createBodyPace } from '../../../src/http/body-budget.ts';

const MIB = 1_024 * 1_024;

describe('bodies that are being received', () => {
  test('of one caller are bounded in bytes, and leave the others theirs', () => {
    const budget = createBodyBudget(4 * MIB, 100 * MIB);
    const release = budget.hold('a', 3 * MIB);
    expect(() => budget.hold('a', 2 * MIB)).toThrow('at most 4 MiB at a time');
    budget.hold('b', 2 * MIB);
    release();
    release();
    budget.hold('a', 5 * MIB);
    expect(() => budget.hold('a', 1)).toThrow('at a time');
  });

  test('count as 16 KiB if they are small', () => {
    const budget = createBodyBudget(MIB, 100 * MIB);
    for (let sent = 0; sent < 64; sent += 1) budget.hold('a', 1);
    expect(() => budget.hold('a', 1)).toThrow('each of which counts as at least 16 KiB');
  });

  test('of a program that makes some thousand calls at the same moment are taken', () => {
    const budget = createBodyBudget();
    for (let sent = 0; sent < 4_000; sent += 1) budget.hold('a', 200);
  });

  test('of all callers are bounded too', () => {
    const budget = createBodyBudget(100 * MIB, 2 * MIB);
    budget.hold('a', MIB);
    const release = budget.hold('b', MIB);
    expect(() => budget.hold('c', 1)).toThrow('as many bodies as it can hold');
    release();
    budget.hold('c', 1);
  });
});

// Issue 33, points 1 and 2: parsing large bodies of one caller took the event loop from all others.
describe('large bodies', () => {
  test('of one caller wait for those before them, and the other callers do not', () => {
    const clock = { now: 50 };
    const pace = createBodyPace(() => clock.now);
    for (let sent = 0; sent < 8; sent += 1) pace.charge('a', MIB);
    expect(pace.waitMs('a')).toBe(0);
    pace.charge('a', 4 * MIB);
    expect(pace.waitMs('a')).toBeCloseTo(250);
    expect(pace.waitMs('b')).toBe(0);
    clock.now += 250;
    expect(pace.waitMs('a')).toBe(0);
  });

  test('do not wait for small ones', () => {
    const pace = createBodyPace(() => 0);
    for (let sent = 0; sent < 10_000; sent += 1) pace.charge('a', 16_384);
    expect(pace.waitMs('a')).toBe(0);
  });
});
