/** Counts of dead letters by lane, type of error and hour.
 *  It must never touch Redis. */
import { expect, test } from 'vitest';
import type { DeadEntry } from '../../../../src/store/index/dead-letter-index.ts';
import { groupDeadLetters } from '../../../../src/directives/change/dead-letter-groups.ts';

async function* of(entries: readonly Partial<DeadEntry>[]) {
  for (const entry of entries) {
    yield { requestId: 'r', id: 'd', lane: 'tool.a', errorType: 'timeout', endedAt: 0, ...entry };
  }
}

const HOUR = 3_600_000;

test('the largest groups come first, with their hours newest first', async () => {
  const counted = await groupDeadLetters(
    of([
      { errorType: '__proto__' },
      { endedAt: HOUR + 5 },
      { endedAt: HOUR },
      { endedAt: 1 },
      { lane: null },
    ]),
  );
  expect(counted).toMatchObject({ total: 5, groups_left_out: 0 });
  expect(counted.groups.map(({ lane, error_type, count }) => [lane, error_type, count])).toEqual([
    ['tool.a', 'timeout', 3],
    ['tool.a', '__proto__', 1],
    [null, 'timeout', 1],
  ]);
  expect(counted.groups[0]).toMatchObject({
    first_at: '1970-01-01T00:00:00.001Z',
    last_at: '1970-01-01T01:00:00.005Z',
    hours: [
      { from: '1970-01-01T01:00:00.000Z', count: 2 },
      { from: '1970-01-01T00:00:00.000Z', count: 1 },
    ],
  });
});

test('groups and hours are bounded', async () => {
  const types = await groupDeadLetters(of(Array.from({ length: 250 }, (_, at) => ({ errorType: `e${at}` }))));
  expect([types.total, types.groups.length, types.groups_left_out]).toEqual([250, 200, 50]);
  const hours = await groupDeadLetters(of(Array.from({ length: 500 }, (_, at) => ({ endedAt: at * HOUR }))));
  expect(hours.groups[0]?.hours).toHaveLength(168);
});
