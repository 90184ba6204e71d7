// How long a directive waits before its next attempt.
// Must never depend on the real time or on real randomness.
import { describe, expect, test } from 'vitest';
import { retryDelayMs } from '../../../src/contract/directive/retry-policy.ts';

const fixed = { retry_backoff_ms: 100, backoff: 'fixed', max_backoff_ms: 30_000, jitter: 0 } as const;
const exponential = { ...fixed, backoff: 'exponential' } as const;
const never = () => {
  throw new Error('chance was asked');
};

describe('retryDelayMs', () => {
  test.each([1, 2, 10])('fixed waits the same after %i failures', (failures) => {
    expect(retryDelayMs(fixed, failures, never)).toBe(100);
  });

  test.each([
    [1, 100],
    [2, 200],
    [3, 400],
    [9, 25_600],
    [10, 30_000],
    [1000, 30_000],
  ])('exponential waits, after %i failures, %i ms', (failures, delay) => {
    expect(retryDelayMs(exponential, failures, never)).toBe(delay);
  });

  test('no backoff is no wait, however often it failed', () => {
    expect(retryDelayMs({ ...exponential, retry_backoff_ms: 0 }, 2000, never)).toBe(0);
  });

  test.each([fixed, exponential])('a first wait above the cap is kept as it is: $backoff', (policy) => {
    for (const failures of [1, 2, 10])
      expect(retryDelayMs({ ...policy, retry_backoff_ms: 60_000 }, failures, never)).toBe(60_000);
  });

  test.each([
    [0, 200],
    [0.5, 150],
    [1, 100],
  ])('jitter of a half takes off at most half: chance %f gives %i ms', (chance, delay) => {
    expect(retryDelayMs({ ...exponential, jitter: 0.5 }, 2, () => chance)).toBe(delay);
  });

  test.each([
    ['longer', 60_000, 60_000],
    ['shorter', 5, 100],
    ['absent', null, 100],
    ['negative', -5, 100],
    ['not finite', Number.POSITIVE_INFINITY, 100],
  ])('a Retry-After that is %s', (_name, retryAfterMs, delay) => {
    expect(retryDelayMs(fixed, 1, never, retryAfterMs)).toBe(delay);
  });
});
