/** The list of requests builds itself, on a real Redis: what it holds in the end is what the journal says.
 *  It must never count as right what only looks right in a page: rows and every facet are compared. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createIndexMending, type IndexMending } from '../../../src/store/search/index-mending.ts';
import { createListBuild, HOLD_MS, LIST_FORMAT } from '../../../src/store/search/list-build.ts';
import { createListBuilder, type ListBuilderReports } from '../../../src/store/search/list-builder.ts';
import { createReindex } from '../../../src/store/search/reindex.ts';
import { createFactsReader } from '../../../src/store/search/request-facts.ts';
import { createIndexer } from '../../../src/store/search/indexer.ts';
import { createRowReader, type RowReader } from '../../../src/store/search/row-reader.ts';
import { rowOf } from '../../../src/store/search/row.ts';
import { createSearchIndex } from '../../../src/store/search/search-index.ts';
import { createSmallReader } from '../../../src/store/search/small-requests.ts';
import { endOf, failureOf } from '../../support/journal.ts';
import { eventually } from '../../support/eventually.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));

function partsOf() {
  const { connection, keys, journal, changes } = open;
  const readFacts = createFactsReader({ connection, keys, journal, runOf: async () => null });
  const onError = (error: Error): never => {
    throw error;
  };
  const read = createRowReader({ readSmall: createSmallReader(connection, keys), readFacts, onError });
  const index = createSearchIndex(connection, keys);
  const mending = createIndexMending(connection, keys);
  const build = createListBuild(connection, keys);
  return { connection, keys, changes, index, mending, read, readFacts, build };
}

/** Another process each; `seen` is what it reports. */
function builderOf({ read, clear }: { read?: RowReader; clear?: IndexMending['clear'] } = {}) {
  const seen: string[] = [];
  const reports: ListBuilderReports = {
    began: (found) => seen.push(`began ${found}`),
    ended: ({ found, failed }) => seen.push(`ended ${found} ${failed}`),
    error: ({ message }) => seen.push(message),
  };
  const parts = partsOf();
  const holder = randomUUID();
  return {
    seen,
    holder,
    ...createListBuilder({
      ...parts,
      read: read ?? parts.read,
      mending: { ...parts.mending, ...(clear && { clear }) },
      holder,
      reports,
    }),
  };
}

/** Each row as a page of the list reads it, and every facet with its members. */
async function listed(): Promise<Record<string, unknown>> {
  const { connection, keys } = open;
  const [rows, all, , errors, facet] = keys.search('default');
  const facets = await connection.keys(`${facet}*`);
  const found = facets.map(
    async (key) => [key, (await connection.zrange(key, '0', '-1')).toSorted()] as const,
  );
  return {
    rows: await connection.hgetall(rows),
    all: (await connection.zrange(all, '0', '-1')).toSorted(),
    errors: await connection.zrange(errors, '0', '-1', 'WITHSCORES'),
    facets: Object.fromEntries(await Promise.all(found)),
  };
}

/** As the list would be if each request were written into an empty one. */
async function asTheJournalSays(ids: readonly string[]): Promise<Record<string, unknown>> {
  const { connection, keys } = open;
  const { index, readFacts } = partsOf();
  const [, , , , facet] = keys.search('default');
  const facets = await connection.keys(`${facet}*`);
  await connection.del(...keys.search('default').slice(0, 4), ...facets);
  const facts = await Promise.all(ids.map(readFacts));
  await index.write(
    facts.flatMap((each) => (each === null ? [] : [rowOf(each)])),
    [],
  );
  return listed();
}

const TRICKY = ['search:x', 'search:default', 'search:default:f:s:open', 'f:s'];

test('a list that is incomplete is built while others write, and holds in the end what the journal says', async () => {
  const { connection, keys, journal, changes } = open;
  const { index, read, build } = partsOf();
  const calls = await Promise.all(Array.from({ length: 120 }, async () => open.accepted()));
  const tricky = await Promise.all(TRICKY.map(async (request_id) => open.accepted({ request_id })));
  await changes.flush();
  await connection.del(keys.changedRequests);
  // What a version before has left: rows and members that are not right any more.
  const [rows, all, , errors, facet] = keys.search('default');
  await connection.hset(
    rows,
    'gone',
    '9 9\u0001s:open\u0001\u0002{}',
    calls[0]?.request_id ?? '',
    'of another format',
  );
  await connection.zadd(all, 9, 'gone');
  await connection.zadd(`${facet}s:open`, 9, 'gone', 9, calls[1]?.request_id ?? '');
  await connection.zadd(`${facet}e:timeout`, 9, 'gone', 9, calls[2]?.request_id ?? '');
  await connection.zadd(errors, 7, 'timeout');
  expect(await build.state()).toEqual({ complete: false, found: 0 });
  const indexer = createIndexer({
    changes,
    index,
    read,
    onError: (error) => expect.unreachable(error.message),
  });
  const [one, other] = [builderOf(), builderOf()];
  // Each request ends before, between or after what is read of it.
  const ending = (async () => {
    for (const [at, call] of [...calls, ...tricky].entries()) {
      const end = at % 3 === 0 ? failureOf : endOf;
      await journal.finish(await open.claimed(call), at % 3 === 0 ? 'failed' : 'succeeded', [end(call)]);
      changes.note(call.request_id);
    }
  })();
  await Promise.all([one.buildDue(), other.buildDue(), indexer.start(), ending]);
  expect((await build.state()).complete).toBe(true);
  expect([...one.seen, ...other.seen]).toEqual(['began 0', 'ended 124 0']);
  await changes.flush();
  await eventually(() => connection.zcard(keys.changedRequests)).toBe(0);
  await indexer.stop();
  const is = await listed();
  expect(is).toEqual(await asTheJournalSays([...calls, ...tricky].map(({ request_id }) => request_id)));
  await one.buildDue();
  expect(one.seen.length + other.seen.length).toBe(2);
});

test('what one that died has begun is gone on with, and one that lost it writes no more', async () => {
  const { connection, keys } = open;
  const { build, read } = partsOf();
  const calls = await Promise.all(Array.from({ length: 1_200 }, async () => open.accepted()));
  const held = Promise.withResolvers<void>();
  const stuck = Promise.withResolvers<void>();
  let pieces = 0;
  const dying = builderOf({
    async read(ids) {
      pieces += 1;
      if (pieces === 14) {
        stuck.resolve();
        await held.promise;
      }
      return read(ids);
    },
  });
  const died = dying.buildDue();
  await stuck.promise;
  const next = builderOf();
  await next.buildDue();
  expect(next.seen).toEqual([]);
  // Its time is over: nobody waits for that here.
  expect(Number(await connection.hget(keys.listBuild, 'held_until')) - Date.now()).toBeLessThanOrEqual(
    HOLD_MS,
  );
  await connection.hset(keys.listBuild, 'held_until', 0);
  const { found } = await build.state();
  expect(found).toBeGreaterThan(0);
  await next.buildDue();
  expect(next.seen).toEqual([`began ${found}`, `ended 1200 0`]);
  const asked = createReindex(build, { size: async () => 0 });
  await asked(undefined);
  held.resolve();
  await died;
  // It has not called complete what somebody has asked for since.
  expect(await build.state()).toMatchObject({ complete: false });
  expect(dying.seen).toEqual(['began 0']);
  expect(await connection.zcard(keys.search('default')[1])).toBe(calls.length);
});

test('a place in a Redis that was started anew is worth nothing; a newer format is left alone', async () => {
  const { connection, keys } = open;
  const { build } = partsOf();
  await open.accepted();
  const old = { cursor: '0:77', topology: 'another@', found: 500, failed: 0 };
  await connection.hset(keys.listBuild, { format: LIST_FORMAT, state: 'building', ...old });
  const builder = builderOf();
  await builder.buildDue();
  expect(builder.seen.at(-1)).toBe('ended 1 0');
  await connection.hset(keys.listBuild, { format: LIST_FORMAT - 1 });
  await builder.buildDue();
  expect(builder.seen.at(-1)).toBe('ended 1 0');
  expect(builder.seen).toHaveLength(4);
  await connection.hset(keys.listBuild, { format: LIST_FORMAT + 1 });
  await builder.buildDue();
  expect(builder.seen).toHaveLength(4);
  expect(await build.state()).toMatchObject({ complete: false });
  // Nor does a question to this process replace it; once nobody of the newer version looks at it any more, it goes.
  await expect(createReindex(build, open.changes)(undefined)).rejects.toMatchObject({
    problem: { code: 'reindex_under_way', detail: expect.stringContaining('newer version') },
  });
  await connection.pexpire(keys.listBuild, 60_000);
  await builder.buildDue();
  expect(await connection.hmget(keys.listBuild, 'format', 'state')).toEqual([
    `${LIST_FORMAT + 1}`,
    'complete',
  ]);
  expect(await connection.pttl(keys.listBuild)).toBeLessThanOrEqual(60_000);
});

test.each([
  ['has built it', 60],
  ['builds it', 1_200],
])(
  'one that stood still before it removed the old list has it built again when another one %s',
  async (_, count) => {
    const { connection, keys } = open;
    const { build, read, mending } = partsOf();
    await Promise.all(Array.from({ length: count }, async () => open.accepted()));
    const all = keys.search('default')[1];
    const [stuck, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const stood = builderOf({
      async clear(clearing) {
        stuck.resolve();
        await goesOn.promise;
        return mending.clear(clearing);
      },
    });
    const standing = stood.buildDue();
    await stuck.promise;
    await connection.hset(keys.listBuild, 'held_until', 0);
    // It stands as the other one is done, or in the middle of it.
    let pieces = 0;
    const other = builderOf({
      async read(ids) {
        pieces += 1;
        if (pieces === 14) {
          goesOn.resolve();
          await standing;
        }
        return read(ids);
      },
    });
    await other.buildDue();
    goesOn.resolve();
    await standing;
    expect(await build.state()).toEqual({ complete: false, found: 0 });
    expect(stood.seen).toEqual([]);
    await other.buildDue();
    expect(await build.state()).toEqual({ complete: true, found: count });
    expect(await connection.zcard(all)).toBe(count);
  },
);

test('a build that fails again and again at one place is reported as begun once', async () => {
  await open.accepted();
  const failing = builderOf({ read: async () => Promise.reject(new Error('no')) });
  for (let tried = 0; tried < 4; tried += 1) await expect(failing.buildDue()).rejects.toThrow('no');
  expect(failing.seen).toEqual(['began 0']);
});

test('an empty installation is complete at once, without a word', async () => {
  const { build } = partsOf();
  const builder = builderOf();
  await builder.buildDue();
  expect(await build.state()).toEqual({ complete: true, found: 0 });
  expect(builder.seen).toEqual([]);
});

test('who asks for a new list hears how far it is; another one is refused meanwhile', async () => {
  const { changes } = open;
  const { build } = partsOf();
  const builder = builderOf();
  await builder.buildDue();
  await open.accepted();
  const reindex = createReindex(build, changes);
  expect(await reindex(undefined)).toMatchObject({ noted: 0, next: '0:0' });
  await expect(reindex(undefined)).rejects.toMatchObject({ problem: { code: 'reindex_under_way' } });
  expect(await reindex('0:0')).toMatchObject({ noted: 0, next: '0:0' });
  await builder.buildDue();
  expect(await reindex('0:0')).toMatchObject({ noted: 1, next: null });
});

// Issue 35, point 20: the list finds archived requests by the same filters, also after `adjutant reindex`.
test('rows of archived requests stay, also where a process died as it wrote them again', async () => {
  const { connection, keys } = open;
  const { index, build, read } = partsOf();
  const listedMs = 60_000;
  const { request_id } = await open.accepted();
  const { rows } = await read([request_id]);
  const text = (gone: number) => JSON.stringify({ gone, text: 'archived' });
  const now = Date.now();
  const written = { version: 3, createdAt: now - 5_000, bytes: 7, facets: ['s:failed', 'e:timeout'] };
  const archived = (requestId: string, gone: number) => ({
    ...written,
    requestId,
    expiresAt: gone + listedMs,
    text: text(gone),
  });
  const kept = ['archived-1', 'archived-2'].map((id) => archived(id, now - 1_000));
  await index.write(
    [...rows, ...kept, archived('over', now - 2 * listedMs), archived('lost', now + 600_000)],
    [],
  );
  const [all, aside] = [keys.search('default')[0], keys.searchAside('default')];
  const mending = createIndexMending(connection, keys, listedMs);
  const dying = builderOf({
    clear: async ({ keepCleared }) =>
      mending.clear({ keepCleared, write: () => Promise.reject(new Error('dead')) }),
  });
  await expect(dying.buildDue()).rejects.toThrow('dead');
  expect(await connection.exists(aside)).toBe(1);
  await connection.hset(keys.listBuild, 'held_until', 0);
  const builder = builderOf({ clear: mending.clear });
  await builder.buildDue();
  expect(await build.state()).toMatchObject({ complete: true });
  const found = await listed();
  expect(Object.keys(found['rows'] as object).toSorted()).toEqual(
    ['archived-1', 'archived-2', request_id].toSorted(),
  );
  expect(found).toMatchObject({
    errors: ['timeout', '2'],
    facets: { [`${keys.search('default')[4]}s:failed`]: ['archived-1', 'archived-2'] },
  });
  expect(await connection.zscore(keys.search('default')[2], 'archived-1')).toBe(`${now - 1_000 + listedMs}`);
  expect(await connection.exists(all, aside)).toBe(1);
});

test('the bytes of a tenant hold while its list is built; what is without a request in the end is taken off', async () => {
  const { connection, keys } = open;
  const { build, read } = partsOf();
  const { request_id } = await open.accepted();
  await builderOf().buildDue();
  // As of requests that went between the removal of their rows and the walk.
  const gone = Object.fromEntries(Array.from({ length: 700 }, (_, at) => [`gone-${at}`, '10']));
  await connection.hset(keys.storedBytes('default'), { ...gone, [request_id]: '5', '': '7005' });
  await build.ask('a test');
  const sums: unknown[] = [];
  const builder = builderOf({
    async read(ids) {
      sums.push(await connection.hget(keys.storedBytes('default'), ''));
      return read(ids);
    },
  });
  await builder.buildDue();
  expect(sums).toEqual(['7005']);
  expect(await connection.hgetall(keys.storedBytes('default'))).toEqual({ [request_id]: '5', '': '5' });
});
