/** Which bodies are refused while others are being received.
 *  It must not need a connection. */
import { describe, expect, test } from 'vitest';
import { createBodyBudget } from '../../../src/api/body-budget.ts';

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
