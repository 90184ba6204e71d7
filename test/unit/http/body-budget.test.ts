/** Which bodies are refused while others are being received.
 *  It must not need a connection. */
import { describe, expect, test } from 'vitest';
import { createBodyBudget, createBodyPace } from '../../../src/http/body-budget.ts';

const MANY = { bodies: 100, bytes: 1_000 };

describe('bodies that are being received', () => {
  test('of one caller are bounded in number, and leave room for the others', () => {
    const budget = createBodyBudget({ bodies: 2, bytes: 1_000 }, MANY);
    const first = budget.hold('a', 1);
    budget.hold('a', 1);
    expect(() => budget.hold('a', 1)).toThrow('at most 2 bodies');
    budget.hold('b', 1);
    first();
    first();
    budget.hold('a', 1);
    expect(() => budget.hold('a', 1)).toThrow('at most 2 bodies');
  });

  test('of one caller are bounded in bytes', () => {
    const budget = createBodyBudget({ bodies: 100, bytes: 10 }, MANY);
    const release = budget.hold('a', 8);
    expect(() => budget.hold('a', 3)).toThrow('at a time');
    release();
    budget.hold('a', 11);
  });

  test('of all callers are bounded too', () => {
    const budget = createBodyBudget(MANY, { bodies: 2, bytes: 1_000 });
    budget.hold('a', 1);
    const release = budget.hold('b', 1);
    expect(() => budget.hold('c', 1)).toThrow('as many bodies as it can hold');
    release();
    budget.hold('c', 1);
  });
});

// Issue 33, points 1 and 2: parsing large bodies of one caller took the event loop from all others.
describe('large bodies', () => {
  const MIB = 1_024 * 1_024;

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
