/** Ids that were heard a moment ago.
 *  It must see that those which are over leave nothing behind. */
import { afterEach, expect, test, vi } from 'vitest';
import { createRecentIds } from '../../../src/queue/recent-ids.ts';

afterEach(() => void vi.useRealTimers());

test('an id is known for as long as was said, from the last time it was heard', () => {
  vi.useFakeTimers();
  const recent = createRecentIds(100);
  recent.add('a');
  vi.advanceTimersByTime(100);
  expect([recent.has('a'), recent.has('b')]).toEqual([true, false]);
  recent.add('a');
  vi.advanceTimersByTime(100);
  expect(recent.has('a')).toBe(true);
  vi.advanceTimersByTime(1);
  expect(recent.has('a')).toBe(false);
});

test('of more than it holds the oldest are forgotten', () => {
  const recent = createRecentIds(100_000, 2);
  for (const id of ['a', 'b', 'a', 'c']) recent.add(id);
  expect(['a', 'b', 'c'].map(recent.has)).toEqual([true, false, true]);
});
