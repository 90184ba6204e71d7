/** Rows of the search index on a real Redis: what is read of many requests at once, and how rows change.
 *  It must never read a row otherwise than a list does. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { redisClock } from '../../../src/platform/redis/clock.ts';
import { createListedCheck } from '../../../src/store/search/listed-request.ts';
import { createFactsReader } from '../../../src/store/search/request-facts.ts';
import { readRow, rowOf, type RequestFacts } from '../../../src/store/search/row.ts';
import { createSearchIndex } from '../../../src/store/search/search-index.ts';
import { createSmallReader } from '../../../src/store/search/small-requests.ts';
import { eventually } from '../../support/eventually.ts';
import { acceptance, endOf, failureOf, toolCall } from '../../support/journal.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));

const LARGE = 20_000;

/** Ids of requests of every sort, by what they are. */
async function requests() {
  const ended = async (end: typeof endOf | typeof failureOf) => {
    const call = await open.accepted({ metadata: { tags: ['nightly'] } });
    const status = end === endOf ? 'succeeded' : 'failed';
    await open.journal.finish(await open.claimed(call), status, [end(call)]);
    return call.request_id;
  };
  const two = randomUUID();
  for (const id of ['a', 'b'])
    await open.journal.accept(two, [acceptance(toolCall({ request_id: two, id }))]);
  return {
    succeeded: await ended(endOf),
    accepted: (await open.accepted()).request_id,
    failed: await ended(failureOf),
    two,
    large: (await open.accepted({ arguments: { text: 'x'.repeat(LARGE) } })).request_id,
    gone: randomUUID(),
  };
}

test('what is read of many requests at once is what is read of one; others than the common ones are left to that', async () => {
  const { connection, keys, journal } = open;
  const readFacts = createFactsReader({ connection, keys, journal, runOf: async () => null });
  const { succeeded, accepted, ...others } = await requests();
  const ids = [others.failed, succeeded, others.two, others.large, accepted, others.gone];
  const [failed, small, two, large, waiting, gone] = await createSmallReader(connection, keys)(ids);
  expect([failed, two, large, gone]).toEqual([null, null, null, null]);
  expect(waiting).toEqual(await readFacts(accepted));
  const whole = await readFacts(succeeded);
  expect({ ...small, expiresAt: null }).toEqual({ ...whole, expiresAt: null });
  expect(Math.abs((small?.expiresAt ?? 0) - (whole?.expiresAt ?? Number.NaN))).toBeLessThan(1_000);
  expect(small).toMatchObject({ tags: ['nightly'], tools: ['test.echo'], open: 0 });
});

test('a row says when what is open of it may begin, until something of it has begun', async () => {
  const { connection, keys, journal } = open;
  const readFacts = createFactsReader({ connection, keys, journal, runOf: async () => null });
  const [one, mixed] = [randomUUID(), randomUUID()];
  const later = (request_id: string, id: string, delayMs: number) => ({
    ...acceptance(toolCall({ request_id, id })),
    later: { when: `d${delayMs}`, startByMs: null },
  });
  await journal.accept(one, [later(one, 'a', 7_200_000), later(one, 'b', 3_600_000)]);
  await journal.accept(mixed, [
    later(mixed, 'a', 3_600_000),
    acceptance(toolCall({ request_id: mixed, id: 'b' })),
  ]);
  const small = randomUUID();
  await journal.accept(small, [later(small, 'a', 3_600_000)]);
  expect(await createSmallReader(connection, keys)([small])).toEqual([null]);
  expect((await readFacts(mixed))?.beginsAt).toBeUndefined();
  const index = createSearchIndex(connection, keys);
  const read = (await Promise.all([one, small, mixed].map(readFacts))).filter((facts) => facts !== null);
  await index.write(read.map(rowOf), []);
  const all = { from: null, since: null, mostSeen: 10, mostFound: 10, facets: ['s:open'] };
  const { rows } = await index.scan('default', all);
  const begins = new Map(rows.map(({ id, stored }) => [id, readRow(id, stored)?.begins_at]));
  for (const { requestId, createdAt } of read)
    expect(begins.get(requestId)).toBe(
      requestId === mixed ? undefined : new Date(createdAt + 3_600_000).toISOString(),
    );
});

test('the list has a request as it is from its row on until it changes, and never says so where a row may change by itself', async () => {
  const { connection, keys, journal } = open;
  const readFacts = createFactsReader({ connection, keys, journal, runOf: async () => null });
  const index = createSearchIndex(connection, keys);
  const check = createListedCheck(connection, keys);
  const call = await open.accepted();
  const { request_id: requestId } = call;
  const write = async (more: Partial<RequestFacts> = {}): Promise<void> => {
    const facts = await readFacts(requestId);
    if (facts === null) throw new Error('not there');
    await index.write([rowOf({ ...facts, ...more })], []);
  };
  expect(await check(requestId)).toBe(false);
  await write();
  expect(await check(requestId)).toBe(true);
  expect(await createListedCheck(connection, keys, () => ({ storedBytes: 1 }))(requestId)).toBe(false);
  const claim = await open.claimed(call);
  expect(await check(requestId)).toBe(false);
  await write({ waitingFor: ['question'] });
  expect(await check(requestId)).toBe(false);
  await write();
  expect(await check(requestId)).toBe(true);
  await journal.finish(claim, 'succeeded', [endOf(call)]);
  await write();
  expect(await check(requestId)).toBe(false);
  expect(await check(randomUUID())).toBe(false);
});

test('a request of many directives is read whole, whatever the order of its fields', async () => {
  const { connection, keys, journal } = open;
  const readFacts = createFactsReader({ connection, keys, journal, runOf: async () => null });
  const requestId = randomUUID();
  const ids = Array.from({ length: 600 }, (_, at) => `id-${String(at).padStart(4, '0')}`);
  await journal.accept(
    requestId,
    ids.map((id) => acceptance(toolCall({ request_id: requestId, id }))),
  );
  await journal.endUnclaimed(requestId, 'id-0599', 'failed', [
    failureOf(toolCall({ request_id: requestId, id: 'id-0599' })),
  ]);
  expect(await readFacts(requestId)).toMatchObject({
    version: 601,
    open: 599,
    directives: 600,
    types: ['tool_exec'],
    errorTypes: ['timeout'],
    anyFailed: true,
  });
  const whole = await journal.request(requestId);
  expect(whole?.directives.map(({ id }) => id)).toEqual(ids);
  expect(whole?.directives[0]).toEqual(await journal.directive(requestId, 'id-0000'));
});

/** It fails, and others of its request are cancelled after it; `known`: the journal has noted that somebody asked for that. */
async function failsBeforeOthersAreCancelled(others: number, known: boolean): Promise<string> {
  const request_id = randomUUID();
  const call = (id: string) => toolCall({ request_id, id });
  const ids = Array.from({ length: others }, (_, at) => `b${at}`);
  await open.journal.accept(request_id, [acceptance(call('a')), ...ids.map((id) => acceptance(call(id)))]);
  await open.journal.endUnclaimed(request_id, 'a', 'failed', [failureOf(call('a'))]);
  for (const id of ids) {
    const end = failureOf(call(id), 'cancelled');
    if (known) await open.journal.cancel(request_id, id, end);
    else await open.journal.endUnclaimed(request_id, id, 'failed', [end]);
  }
  return request_id;
}

test.each([true, false])(
  'a request of which one failed has failed, whatever was cancelled after it (noted: %s)',
  async (known) => {
    const { connection, keys, journal } = open;
    const readFacts = createFactsReader({ connection, keys, journal, runOf: async () => null });
    const facts = await readFacts(await failsBeforeOthersAreCancelled(40, known));
    expect(facts).toMatchObject({ anyFailed: true, anyCancelled: true, redrivenAs: undefined });
    expect(facts?.errorTypes).toContain('timeout');
  },
);

const FACTS: RequestFacts = {
  requestId: 'r:1',
  version: 2,
  createdAt: 1_700_000_000_000,
  closedAt: null,
  expiresAt: null,
  open: 1,
  directives: 1,
  bytes: 700,
  types: ['tool_exec'],
  tools: ['test.echo'],
  models: [],
  errorTypes: [],
  tags: ['a', 'b'],
  text: '',
  waitingFor: [],
  anyFailed: false,
  anyCancelled: false,
  run: null,
};

test('a row that changes leaves the sets that it is no longer in, beside new rows of the same call', async () => {
  const index = createSearchIndex(open.connection, open.keys);
  const all = { from: null, since: null, mostSeen: 10, mostFound: 10 };
  const found = async (facet: string) =>
    (await index.scan('default', { ...all, facets: [facet] })).rows.map(({ id }) => id);
  const other = rowOf({ ...FACTS, requestId: 'r:2' });
  await index.write([rowOf(FACTS), other], []);
  expect([await found('s:open'), await found('g:a')]).toEqual([
    ['r:2', 'r:1'],
    ['r:2', 'r:1'],
  ]);
  const closed = { ...FACTS, version: 4, open: 0, closedAt: FACTS.createdAt + 5, tags: ['b', 'c'] };
  const failed = { ...closed, errorTypes: ['timeout'], anyFailed: true, expiresAt: Date.now() + 60_000 };
  await index.write([rowOf({ ...FACTS, requestId: 'r:3' }), rowOf(failed)], []);
  await index.write([rowOf(FACTS)], []);
  expect([await found('s:open'), await found('g:a')]).toEqual([
    ['r:3', 'r:2'],
    ['r:3', 'r:2'],
  ]);
  expect([await found('s:failed'), await found('g:c')]).toEqual([['r:1'], ['r:1']]);
  expect(await index.errorTypes('default')).toEqual([{ type: 'timeout', requests: 1 }]);
  const [row] = (await index.scan('default', { ...all, facets: ['e:timeout'] })).rows;
  expect(readRow('r:1', row?.stored ?? '')).toMatchObject({
    status: 'failed',
    types: ['tool_exec'],
    tools: ['test.echo'],
    error_types: ['timeout'],
    tags: ['b', 'c'],
    closed_at: new Date(FACTS.createdAt + 5).toISOString(),
  });
});

// Issue 35: a tenant whose `stored_bytes` are limited was full by requests that Redis no longer held.
test('the row of an archived request outlives it, says so from then on, and holds no bytes of its tenant', async () => {
  const { connection, keys } = open;
  const expiresAt = Date.now() - 1;
  const facts = { ...FACTS, open: 0, closedAt: FACTS.createdAt, expiresAt, bytes: 70 };
  const listed = createSearchIndex(connection, keys, () => ({ storedBytes: 1 }));
  const rowsOf = async () => {
    const all = { facets: [], from: null, since: null, mostSeen: 9, mostFound: 9 };
    return (await listed.scan('default', all)).rows;
  };
  const bytes = async () => connection.hgetall(keys.storedBytes('default'));
  await listed.write(
    ['r:4', 'r:5'].map((requestId) => rowOf({ ...facts, requestId }, 60_000)),
    [],
  );
  await listed.write([rowOf({ ...facts, requestId: 'r:6', expiresAt: expiresAt + 60_000 }, 60_000)], []);
  expect(await bytes()).toMatchObject({ '': '210' });
  await listed.trim();
  expect(await bytes()).toEqual({ '': '70', 'r:6': '70' });
  const [, , found] = (await rowsOf()).map(({ stored }) => stored);
  expect((await rowsOf()).map(({ id }) => id)).toEqual(['r:6', 'r:5', 'r:4']);
  expect(readRow('r:4', found ?? '', expiresAt - 1)?.archived).toBeUndefined();
  expect(readRow('r:4', found ?? '', expiresAt)?.archived).toBe(true);
  expect(await connection.zscore(keys.search('default')[2], 'r:4')).toBe(String(expiresAt + 60_000));
  await listed.write([rowOf({ ...facts, requestId: 'r:4', version: 99 }, 1)], []);
  await listed.trim();
  expect((await rowsOf()).map(({ id }) => id)).toEqual(['r:6', 'r:5']);
});

test('a note that Redis refuses is made later', async () => {
  const { connection, keys, changes } = open;
  await connection.set(keys.changedRequests, 'of another type');
  changes.note('r:1');
  await expect(changes.flush()).rejects.toThrow('WRONGTYPE');
  await connection.del(keys.changedRequests);
  changes.note('r:2');
  await eventually(() => connection.zrange(keys.changedRequests, '0', '-1')).toEqual(['r:1', 'r:2']);
});

test('an answer of Redis that never came leaves a note all the same', async () => {
  const { connection, keys, changes, journal } = open;
  const call = await open.accepted();
  const [state] = keys.request(call.request_id);
  await connection.rename(state, `${state}:away`);
  await connection.set(state, 'of another type');
  const cause = { requestId: call.request_id, id: call.id };
  await expect(
    journal.endUnclaimed(cause.requestId, cause.id, 'failed', [failureOf(call)]),
  ).rejects.toThrow();
  await changes.flush();
  expect(await connection.zrange(keys.changedRequests, '0', '-1')).toEqual([call.request_id]);
});

test('what an indexer has taken counts as behind until it is written, also when it died', async () => {
  const { connection, keys, changes } = open;
  const now = redisClock(connection);
  await connection.zadd(keys.changedRequests, (await now()) - 60_000, 'r:old');
  const { heldUntil } = await changes.take(10);
  await changes.noteAll(['r:new']);
  expect(await changes.lagMs(await now())).toBeGreaterThanOrEqual(60_000);
  // The hold of a process that died ends.
  const over = `${(await now()) - 5_000}.5`;
  await connection.zadd(keys.changedRequests, over, 'r:old');
  await connection.zrem(keys.takenChanges, heldUntil);
  await connection.zadd(keys.takenChanges, (await now()) - 60_000, over);
  const again = await changes.take(10);
  expect(await changes.lagMs(await now())).toBeGreaterThanOrEqual(60_000);
  await changes.done(again.heldUntil, ['r:old']);
  expect(await changes.lagMs(await now())).toBeLessThan(60_000);
  expect(await connection.exists(keys.takenChanges)).toBe(0);
});
