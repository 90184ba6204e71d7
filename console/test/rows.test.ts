/** The rows of the list of requests while new ones come.
 *  It must not draw. */
import { expect, test } from 'vitest';
import {
  ageOf,
  chosenOf,
  extended,
  noRows,
  pageInSight,
  refreshed,
  updated,
} from '../pages/requests/rows.ts';
import type { ListedRequest } from '../../src/contract/request/request-listing.ts';

const row = (place: number, status = 'open'): ListedRequest =>
  ({ request_id: `r${place}`, created_at: `2026-11-22T10:00:0${place}.000Z`, status }) as ListedRequest;
const ids = (rows: readonly ListedRequest[]): string => rows.map(({ request_id: id }) => id).join(' ');

test('new rows come at once while nobody scrolls, and ended ones change in place', () => {
  const first = refreshed(noRows('created'), [row(2), row(1)], false, false);
  const next = refreshed(first, [row(3), row(2, 'failed'), row(1)], false, false);
  expect(ids(next.shown)).toBe('r3 r2 r1');
  expect(next.shown[1]?.status).toBe('failed');
});

test('while somebody scrolls nothing moves, and new ones are counted', () => {
  const first = refreshed(noRows('created'), [row(2), row(1)], false, true);
  const more = extended(first, [row(1), row(0)]);
  const still = refreshed(more, [row(4), row(3), row(2, 'failed')], true, true);
  expect(ids(still.shown)).toBe('r2 r1 r0');
  expect(still.shown[0]?.status).toBe('failed');
  expect(ids(still.held)).toBe('r4 r3');
  expect(ids(refreshed(still, [row(4), row(3), row(2)], false, true).shown)).toBe('r4 r3 r2 r1 r0');
});

test('a row that no longer fits the filter leaves when nobody looks at it closely', () => {
  const first = refreshed(noRows('created'), [row(3), row(2), row(1)], false, false);
  expect(ids(refreshed(first, [row(3), row(1)], true, false).shown)).toBe('r3 r2 r1');
  expect(ids(refreshed(first, [row(3), row(1)], false, false).shown)).toBe('r3 r1');
});

// Issue 35, point 14: the order of the service, and not one of the loaded rows.
test('a list by cost keeps its order while rows change, and reads those in sight by its own cursor', () => {
  const at = (place: number, cost: number): ListedRequest => ({ ...row(place), cost });
  const first = refreshed(noRows('cost'), [at(1, 0.5), at(2, 0.25)], false, true);
  const more = extended(first, [at(4, 0.2), at(3, 0.1)]);
  const next = refreshed(more, [at(3, 0.75), at(1, 0.5)], false, true);
  expect(ids(next.shown)).toBe('r3 r1 r2 r4');
  const still = refreshed(more, [at(6, 0.9), at(1, 0.5), at(5, 0.3)], true, true);
  expect([ids(still.shown), ids(still.held)]).toEqual(['r1 r2 r4 r3', 'r6']);
  expect(pageInSight(more, [at(1, 0.5), at(2, 0.25)], { first: 1, last: 3 })?.cursor).toBe('250000.r2');
});

test('more than a page of new ones is a gap, and the list begins anew', () => {
  const first = refreshed(noRows('created'), [row(2), row(1)], false, true);
  expect(refreshed(first, [row(6), row(5)], true, true)).toMatchObject({ hasGap: true });
  expect(ids(refreshed(first, [row(6), row(5)], false, true).shown)).toBe('r6 r5');
});

test('rows in sight below the first page are read again, in their place', () => {
  const rows = { ...noRows('created'), shown: [row(4), row(3), row(2), row(1)] };
  const at = Date.parse('2026-11-22T10:00:03.000Z');
  expect(pageInSight(rows, [row(4), row(3)], { first: 1, last: 3 })).toEqual({
    cursor: `${at}.r3`,
    limit: 2,
  });
  expect(pageInSight(rows, [row(4), row(3)], { first: 0, last: 1 })).toBeNull();
  expect(pageInSight(noRows('created'), [], { first: 0, last: 20 })).toBeNull();
  // So many new ones wait that the first page has none of them.
  expect(pageInSight(rows, [row(9), row(8)], { first: 0, last: 3 })?.limit).toBe(3);
  const next = updated(rows, [row(2, 'failed')]);
  expect(ids(next.shown)).toBe('r4 r3 r2 r1');
  expect(next.shown[2]?.status).toBe('failed');
});

test('a row that may have changed since it was read says so', () => {
  const open = { ...row(1), closed_at: null };
  expect(ageOf(open, 1_000, 5_000)).toBeNull();
  expect(ageOf(open, 1_000, 30_000)).toBe(1_000);
  expect(ageOf({ ...open, closed_at: open.created_at }, 1_000, 30_000)).toBeNull();
});

test('what is counted as chosen is what the list has', () => {
  expect(chosenOf([row(2), row(1)], new Set(['r1'])).words).toBe('1 chosen');
  const { chosen, words } = chosenOf([row(2)], new Set(['r1', 'r2']));
  expect(ids(chosen)).toBe('r2');
  expect(words).toBe('1 chosen, 1 not in this list any more');
});
