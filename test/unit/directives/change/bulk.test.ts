/** What a call for many requests chooses and does, and where it stops.
 *  It must not read a clock: how far the time has run is what the test says. */
import { expect, test } from 'vitest';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import type { RequestQuery } from '../../../../src/contract/request/request-listing.ts';
import type { DeadEntry } from '../../../../src/store/index/dead-letter-index.ts';
import { createBulk } from '../../../../src/directives/change/bulk.ts';
import type { BulkClocks } from '../../../../src/directives/change/bulk-clocks.ts';

const ENDLESS: BulkClocks = { isLate: () => false, isOver: () => false };

/** Of requests `r0`, `r1`, … newest first, all of each status that is asked for; and of their dead letters. */
function service({ requests = 0, letters = {} }: { requests?: number; letters?: Record<string, number> }) {
  const pages: RequestQuery[] = [];
  const cancelled: string[] = [];
  const redriven: string[] = [];
  const client = {
    async requests(query: RequestQuery) {
      pages.push(query);
      const { cursor, limit = 50 } = query;
      const first = cursor === undefined ? 0 : 10_000 - Number(cursor.split('.')[0]) + 1;
      const count = Math.max(0, Math.min(limit, requests - first));
      const found = Array.from({ length: count }, (_, at) => ({
        request_id: `r${first + at}`,
        created_at: new Date(10_000 - first - at).toISOString(),
      }));
      const last = first + count - 1;
      return { requests: found, next: first + count < requests ? `${10_000 - last}.r${last}` : null };
    },
    async cancel(id: string) {
      cancelled.push(id);
      return { directives: [] };
    },
  } as unknown as DirectiveClient;
  const entries = (id: string): DeadEntry[] =>
    Array.from({ length: letters[id] ?? 0 }, (_, at) => ({
      requestId: id,
      id: `d${at}`,
      lane: null,
      errorType: 'auth',
      endedAt: at,
    }));
  const dead = {
    byRequest: async () => new Map(Object.keys(letters).map((id) => [id, entries(id)])),
    redrivable: async (chosen: readonly DeadEntry[]) => ({ found: [...chosen], refused: [] }),
    async redriveThese(chosen: readonly DeadEntry[], isOver: () => boolean) {
      const done = isOver() ? 1 : chosen.length;
      redriven.push(...chosen.slice(0, done).map(({ requestId, id }) => `${requestId}/${id}`));
      return { redriven: [], refused: [], not_found: [], done };
    },
  };
  const bulk = (clocks: BulkClocks = ENDLESS) => createBulk(client, dead, 'default', () => clocks);
  return { pages, cancelled, redriven, bulk };
}

test('a cancellation reads no page that its limit does not need, and a repeat goes on', async () => {
  const { pages, cancelled, bulk } = service({ requests: 1_500 });
  const filter = { status: 'open' } as const;
  const first = await bulk().cancelAll({ filter, limit: 1_000 });
  expect(pages).toHaveLength(6);
  expect(first).toMatchObject({ more: true, next: 'open/9001.r999' });
  const second = await bulk().cancelAll({ filter, limit: 1_000, cursor: first.next ?? '' });
  expect(second).toMatchObject({ more: false, next: null });
  expect(new Set(cancelled).size).toBe(1_500);
});

test('a choice that is late ends after its page, and says where it goes on', async () => {
  const { pages, redriven, bulk } = service({ requests: 1_500, letters: { r900: 1 } });
  const late: BulkClocks = { isLate: () => true, isOver: () => false };
  const ends = [];
  let cursor: string | undefined;
  do {
    const { next, more, found } = await bulk(late).redriveAll({ all: true, cursor });
    expect(more).toBe(next !== null);
    ends.push(found.length);
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  expect(ends).toEqual([0, 0, 0, 0, 1, 0, 0, 0]);
  expect(pages).toHaveLength(8);
  expect(redriven).toEqual(['r900/d0']);
});

test('nothing is done once the time is over or the caller has gone, and a repeat begins there', async () => {
  const { cancelled, redriven, bulk } = service({ requests: 30, letters: { r3: 1, r4: 2 } });
  let asked = 0;
  const over: BulkClocks = { isLate: () => false, isOver: () => (asked += 1) > 1 };
  const stopped = await bulk(over).cancelAll({ all: true });
  expect(stopped).toMatchObject({ more: true, next: 'open/9991.r9' });
  expect(cancelled).toHaveLength(10);
  const some = await bulk({ ...ENDLESS, isOver: () => true }).redriveAll({ all: true });
  expect(some).toMatchObject({ more: true, next: 'failed/9997.r3' });
  expect(redriven).toEqual(['r3/d0']);
  const gone = { signal: AbortSignal.abort() };
  expect(await bulk().redriveAll({ all: true }, gone)).toMatchObject({ redriven: [] });
  expect(redriven).toHaveLength(1);
});

test('a request with more dead letters than one call takes is cut, and a repeat has the rest', async () => {
  const { redriven, bulk } = service({ requests: 3, letters: { r0: 600, r1: 600, r2: 1_200 } });
  const first = await bulk().redriveAll({ all: true });
  expect(first).toMatchObject({ more: true, next: 'failed/10000.r0' });
  expect(first.found).toHaveLength(600);
  const second = await bulk().redriveAll({ all: true, cursor: 'failed/9999.r1' });
  expect(second).toMatchObject({ more: true, next: 'failed/9999.r1' });
  expect(second.found).toHaveLength(1_000);
  expect(redriven).toHaveLength(1_600);
  const dry = await bulk().redriveAll({ all: true, dry_run: true, cursor: 'failed/9999.r1' });
  expect(dry).toMatchObject({ more: true, next: 'failed/9998.r2' });
});
