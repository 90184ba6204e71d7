/** What tokens cost.
 *  It must never count a token twice. */
import { expect, test } from 'vitest';
import { costUsd } from '../../../src/models/pricing.ts';

const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

test('cached input costs its own price, and the rest of the input the full one', () => {
  expect(costUsd({ input: 1_000_000, output: 0 }, price)).toBe(3);
  expect(costUsd({ input: 0, output: 1_000_000 }, price)).toBe(15);
  expect(costUsd({ input: 1_000_000, output: 0, cacheRead: 500_000, cacheWrite: 500_000 }, price)).toBe(
    2.025,
  );
  expect(costUsd({ input: 100, output: 0, cacheRead: 100 }, price)).toBe(0.00003);
});

test('a provider that counts its cache beside the input does not make it negative', () => {
  expect(costUsd({ input: 10, output: 0, cacheRead: 1_000_000 }, price)).toBe(0.3);
});
