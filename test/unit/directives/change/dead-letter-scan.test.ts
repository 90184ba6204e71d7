/** The pass over the list of dead letters while entries leave it.
 *  It must not need Redis: the list is an array. */
import { expect, test } from 'vitest';
import type { DeadEntry, DeadLetterIndex } from '../../../../src/store/index/dead-letter-index.ts';
import { scan, scanBack } from '../../../../src/directives/change/redrive.ts';

// Issue 33, point 5: one pass sees each letter once, although those that are redriven leave the list.
test('each entry is seen once while others leave the list, and each page is read once', async () => {
  const entries = Array.from({ length: 950 }, (_, at): DeadEntry => {
    return { requestId: `r-${at}`, id: 'a', lane: null, errorType: 'auth', endedAt: at };
  });
  const left = [...entries];
  let pages = 0;
  const page: DeadLetterIndex['page'] = async (_tenant, offset, limit) => {
    pages += 1;
    return left.slice(offset, offset + limit);
  };
  const dead = { page } as DeadLetterIndex;
  const seen: DeadEntry[] = [];
  let removed = 0;
  for await (const { entry } of scan({ dead, tenant: 'default' }, {}, '0', () => removed)) {
    seen.push(entry);
    if (seen.length % 3 !== 0) continue;
    left.splice(left.indexOf(entry), 1);
    removed += 1;
  }
  expect(seen).toEqual(entries);
  expect(pages).toBe(5);
});

test('newest first, no entry is left out while newer ones come and others leave the list', async () => {
  const entryAt = (at: number): DeadEntry => {
    return { requestId: `r-${at}`, id: 'a', lane: null, errorType: 'auth', endedAt: at };
  };
  const left = Array.from({ length: 450 }, (_, at) => entryAt(at));
  const before = [...left];
  const page: DeadLetterIndex['page'] = async (_tenant, offset, limit) => left.slice(offset, offset + limit);
  const dead = { page, size: async () => left.length } as DeadLetterIndex;
  const seen: DeadEntry[] = [];
  for await (const { entry } of scanBack({ dead, tenant: 'default' }, {})) {
    seen.push(entry);
    left.push(entryAt(1_000 + seen.length));
    left.splice(left.indexOf(entry), 1);
  }
  expect(seen).toEqual(before.toReversed());
});
