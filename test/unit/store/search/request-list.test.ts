/** Long searches of several tenants beside each other.
 *  It must not need Redis: the index is an array without an end. */
import { expect, test, vi } from 'vitest';
import { createRequestList, type RequestListParts } from '../../../../src/store/search/request-list.ts';
import { untilHolds } from '../../../support/eventually.ts';

const SLICES_OF_A_SEARCH = 42;

/** An index in which no row fits; each scan is held until it is let go. */
function openList() {
  const scans: { tenant: string; letGo: () => void }[] = [];
  const parts = {
    index: {
      scan: async (tenant: string) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        scans.push({ tenant, letGo: resolve });
        await promise;
        return { rows: [], next: { createdAt: 1, id: 'r' } };
      },
      sizes: async () => [0],
      errorTypes: async () => [],
    },
    storedOf: async () => null,
    changes: { lagMs: () => 0 },
    build: { state: async () => ({ complete: true }) },
    now: async () => 0,
  } as unknown as RequestListParts;
  const letGoAll = (): string[] => scans.splice(0).map(({ tenant, letGo }) => (letGo(), tenant));
  return { list: createRequestList(parts), scans, letGoAll };
}

const settle = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

// Issue 33, point 6: searches of one tenant that found nothing held the loop for the others.
test('of the long searches of a tenant one goes on at a time, beside those of another', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { list, scans, letGoAll } = openList();
  const greedy = Array.from({ length: 10 }, async () => list({ q: 'nothing' }, 'greedy'));
  const other = list({ q: 'nothing' }, 'other');
  await untilHolds(() => expect(scans).toHaveLength(11));
  letGoAll();
  for (let slice = 1; slice < SLICES_OF_A_SEARCH - 1; slice += 1) {
    await settle();
    expect(letGoAll().toSorted()).toEqual(['greedy', 'other']);
  }
  await settle();
  letGoAll();
  expect(await other).toMatchObject({ requests: [], searched_until: expect.any(String) });
  let isOver = false;
  const all = Promise.all(greedy).finally(() => (isOver = true));
  while (!isOver) {
    letGoAll();
    await settle();
  }
  expect(await all).toHaveLength(10);
  vi.useRealTimers();
});

test('a search that would wait behind too many others ends with what it has found', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { list, scans, letGoAll } = openList();
  const searches = Array.from({ length: 40 }, async () => list({ q: 'nothing' }, 'greedy'));
  await untilHolds(() => expect(scans).toHaveLength(40));
  letGoAll();
  const ended = await Promise.race(searches);
  expect(ended).toMatchObject({ requests: [], next: expect.any(String) });
  vi.useRealTimers();
});

// Issue 35, point 14: sorting.
test('a list by duration or cost is chosen of all matching requests, page by page, each once, also of all tenants', async () => {
  const stored = (at: number, closed: number | null, cost: number) =>
    `1 ${at}\u0001\u0002${JSON.stringify({ closed, cost })}`;
  const rows = [
    { id: 'open', stored: stored(5_000, null, 0.5) },
    { id: 'brief', stored: stored(4_000, 4_010, 0.000_002) },
    { id: 'long', stored: stored(3_000, 9_000, 0) },
    { id: 'same-1', stored: stored(2_000, 2_500, 3) },
    { id: 'same-2', stored: stored(1_000, 1_500, 3) },
  ];
  const scan = async (tenant: string) => ({
    rows: tenant === 'default' ? rows : rows.map(({ id, ...row }) => ({ id: `acme~${id}`, ...row })),
    next: null,
  });
  const parts = {
    index: { scan, sizes: async () => [5], errorTypes: async () => [] },
    storedOf: async () => null,
    changes: { lagMs: () => 0 },
    build: { state: async () => ({ complete: true }) },
    tenants: async () => ['default', 'acme'],
    now: async () => 0,
  } as unknown as RequestListParts;
  const list = createRequestList(parts);
  const pages = async (sort: 'duration' | 'cost', tenant = 'default'): Promise<string[]> => {
    const ids: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await list({ sort, limit: 2, cursor, tenant }, tenant);
      ids.push(...page.requests.map(({ tenant: of, request_id }) => `${of ?? ''}${request_id}`));
      if (page.next === null) return ids;
      cursor = page.next;
    }
  };
  expect(await pages('duration')).toEqual(['long', 'same-2', 'same-1', 'brief', 'open']);
  expect(await pages('cost')).toEqual(['same-2', 'same-1', 'open', 'brief', 'long']);
  expect((await pages('cost', '*')).slice(0, 4)).toEqual([
    'defaultsame-2',
    'defaultsame-1',
    'acmesame-2',
    'acmesame-1',
  ]);
  expect(await pages('duration', '*')).toHaveLength(10);
  expect((await list({ limit: 2 }, 'default')).requests.map(({ request_id }) => request_id)).toEqual([
    'open',
    'brief',
  ]);
});
