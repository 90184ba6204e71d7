/** Issue 15, 20: the default retention suits the memory that is there.
 *  It must not ask Redis. */
import { expect, test } from 'vitest';
import { closedMsAt } from '../../../src/service/retention.ts';

const retention = { closed_ms: 100, longest_ms: 1_100 };

test.each([
  ['an empty Redis', 0, 1_100],
  ['an eighth of its memory', 0.125, 600],
  ['a quarter of its memory', 0.25, 100],
  ['a full Redis', 1, 100],
  ['a Redis that says nothing of its memory', null, 100],
])('a request that closes with %s stays for as long as that allows', (_name, share, ms) => {
  expect(closedMsAt(retention, share)).toBe(ms);
});

test('a longest time below the configured one changes nothing', () => {
  expect(closedMsAt({ closed_ms: 100, longest_ms: 50 }, 0)).toBe(100);
});
