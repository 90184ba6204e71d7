/** The index of directives to check again, on a real Redis.
 *  It must never hold more than identities and times. */
import { expect, test, vi } from 'vitest';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { createChangedRequests } from '../../../src/store/index/changed-requests.ts';
import { untilHolds } from '../../support/eventually.ts';
import { claimOf, dueAt, endOf, toolCall } from '../../support/journal.ts';
import { openStore } from '../../support/store.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openThings } from '../../../src/store/index/later-index.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));

const ref = (id: string) => ({ requestId: 'r:1', id });

const ids = (entries: readonly { id: string }[]): string[] => entries.map(({ id }) => id);

test('entries are due in their order, from their instant on', async () => {
  await open.index.add([ref('late')], Date.now() + 60_000);
  await open.index.add([ref('second')], 200);
  await open.index.add([ref('a.b:c')], 100);
  expect(ids((await open.index.take(1)).entries)).toEqual(['a.b:c']);
  expect((await open.index.take(10)).entries).toMatchObject([{ ...ref('second'), missedBefore: false }]);
});

test('entries that one sweeper has taken go to no other, until that one is lost', async () => {
  await open.index.add([ref('a')], 100);
  const { now, entries } = await open.index.take(10);
  expect(ids(entries)).toEqual(['a']);
  expect((await open.index.take(10)).entries).toEqual([]);
  const [, score] = await open.connection.zrange(open.keys.sweep, '0', '-1', 'WITHSCORES');
  expect(Number(score)).toBeGreaterThan(now);
  expect(Number(score)).toBeLessThanOrEqual(now + 1_001);
});

test('a later check replaces the earlier one, and remembers what was missing', async () => {
  await open.index.add([ref('a')], 100);
  const taken = async () => (await open.index.take(10)).entries[0];
  const first = await taken();
  if (!first) throw new Error('nothing taken');
  await open.index.lookAgain(first, 200, true);
  const second = await taken();
  expect(second).toMatchObject({ ...ref('a'), missedBefore: true });
  if (second) await open.index.lookAgain(second, 200);
  expect(await taken()).toMatchObject({ ...ref('a'), missedBefore: false });
});

test('a check that is requested after the sweeper took the entry is not delayed', async () => {
  await open.index.add([ref('a')], 100);
  const [entry] = (await open.index.take(10)).entries;
  await open.index.lookWithin(ref('a'), 300);
  if (entry) await open.index.lookAgain(entry, Date.now() + 60_000);
  expect(ids(await dueAt(open, Date.now() + 10_000))).toEqual(['a']);
});

test('a requested check is never later than the planned one', async () => {
  await open.index.add([ref('a')], 100);
  await open.index.lookWithin(ref('a'), 60_000);
  expect(ids((await open.index.take(10)).entries)).toEqual(['a']);
  await open.index.lookWithin(ref('new'), 60_000);
  expect(ids(await dueAt(open, Date.now() + 65_000))).toEqual(['a', 'new']);
});

test('a claim has the directive looked at when its lease ends, by the clock of Redis, and never later than agreed', async () => {
  const [early, late] = [await open.accepted({}, 100), await open.accepted({}, Date.now() + 900_000)];
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
  try {
    for (const call of [early, late]) await open.journal.claim(claimOf(call, 10_000));
  } finally {
    vi.useRealTimers();
  }
  const leaseUntil = (await open.journal.directive(late.request_id, late.id))?.leaseUntil;
  expect(await open.connection.zrange(open.keys.sweep, '0', '-1', 'WITHSCORES')).toEqual([
    `${early.request_id}/${early.id}`,
    '100',
    `${late.request_id}/${late.id}`,
    String(leaseUntil),
  ]);
});

test('a claim that comes while a sweeper has the entry is looked at when its lease ends', async () => {
  const call = await open.accepted({}, 100);
  const { now, entries } = await open.index.take(10);
  const [taken] = entries;
  await open.claimed(call, 5_000);
  expect(taken).toBeDefined();
  if (taken) await open.index.lookAgain(taken, now + 60_000);
  expect(ids(await dueAt(open, now + 6_000))).toEqual([call.id]);
});

const CROWD = { mostSeen: 120, mostGiven: 20, shortestLookMs: 5_000, longestLookMs: 60_000 };

test('of many that are due, what a worker began or ended just now is looked at later, until its lease or its deadline ends', async () => {
  const [seconds] = await open.connection.time();
  const justNow = Number(seconds) * 1_000 + 100_000;
  const missing = Array.from({ length: 45 }, (_, number) => ref(`missing-${number}`));
  await open.index.add(missing, 1);
  const at = async (call: ToolExec, field: string, instant: number | string): Promise<void> =>
    void (await open.connection.hset(open.keys.request(call.request_id)[0], `${call.id}|${field}`, instant));
  const begun = async (instant: number, leaseMs = 900_000, fields: Partial<ToolExec> = {}) => {
    const call = await open.accepted(fields, 1);
    const claim = await open.claimed(call, leaseMs);
    await at(call, 'started_at', instant);
    return { call, claim };
  };
  const ended = async (instant: number, status: 'succeeded' | 'failed' = 'succeeded') => {
    const { call, claim } = await begun(justNow);
    await open.journal.finish(claim, status, [endOf(call)]);
    await at(call, 'ended_at', instant);
    return call;
  };
  const [held, lease, deadline] = [
    await begun(justNow),
    await begun(justNow, 50_000),
    await begun(justNow, 900_000, { deadline_ms: 60_000 }),
  ];
  const left = await ended(justNow);
  const looked = [(await begun(1)).call, await ended(1), await ended(justNow, 'failed')];
  const { entries } = await open.index.take(200, CROWD);
  expect(new Set(ids(entries))).toEqual(new Set([...ids(missing), ...ids(looked)]));
  const lookAt = async ({ request_id: requestId, id }: ToolExec) =>
    Number(await open.connection.zscore(open.keys.sweep, `${requestId}/${id}`));
  for (const call of [held.call, left]) expect(await lookAt(call)).toBe(justNow + 1_000);
  const recordOf = ({ call }: typeof held) => open.journal.directive(call.request_id, call.id);
  expect(await lookAt(lease.call)).toBe((await recordOf(lease))?.leaseUntil);
  expect(await lookAt(deadline.call)).toBe((await recordOf(deadline))?.deadlineAt);
});

test('a claim of what was never accepted leaves no entry', async () => {
  await open.journal.claim(claimOf(toolCall()));
  expect(await open.index.size()).toBe(0);
});

test('what is open is counted without notices of ends and their deliveries', async () => {
  const own = ['a', 'b', 'c'].map((id) => ref(id));
  const notices = own.map(({ id }) => ref(`@notice/${id}`));
  const deliveries = ['webhook.1', 'acme~webhook.2'].map((requestId) => ({ requestId, id: 'orders' }));
  await open.index.add([...own, ...notices, ...deliveries], 100);
  const things = openThings({ index: open.index, later: { size: async () => 2 } });
  expect(await things.size()).toBe(5);
  // More than that it is not asked for.
  expect(await things.size(100)).toBe(10);
});

test('a repeated announcement delays nothing', async () => {
  await open.index.add([ref('a')], 100);
  await open.index.add([ref('a')], Date.now() + 60_000);
  expect(await dueAt(open, 100)).toHaveLength(1);
  await open.index.add([ref('a')], 50);
  expect(await dueAt(open, 50)).toHaveLength(1);
});

test('an announcement is due by the clock of Redis, whatever the clock of the process shows', async () => {
  const [seconds] = await open.connection.time();
  const now = Number(seconds) * 1_000;
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
  try {
    await open.index.announce(
      [ref('a'), ...Array.from({ length: 2_500 }, (_, number) => ref(`b-${number}`))],
      5_000,
    );
  } finally {
    vi.useRealTimers();
  }
  expect(await open.index.size()).toBe(2_501);
  expect(await dueAt(open, now + 4_000)).toEqual([]);
  expect(await dueAt(open, now + 60_000)).toHaveLength(2_501);
  await open.index.announce([ref('a')], 0);
  await open.index.announce([ref('a')], 50_000);
  expect((await dueAt(open, now + 4_000)).map(({ id }) => id)).toEqual(['a']);
});

test('a last check remembers that the end was recorded', async () => {
  await open.index.lookOnceMore(ref('a'), 200);
  const settled = { ...ref('a'), missedBefore: false, recordedBefore: true };
  expect((await open.index.take(10)).entries).toMatchObject([settled]);
});

test('an entry forgotten meanwhile does not return with a later check', async () => {
  await open.index.lookAgain({ ...ref('a'), missedBefore: false, takenAs: '100.125' }, 200);
  expect(await open.index.size()).toBe(0);
});

test('many forgotten entries are removed together, soon', async () => {
  const refs = Array.from({ length: 1_000 }, (_, index) => ref(`d${index}`));
  await open.index.add([...refs, ref('stays')], 100);
  for (const each of refs) open.index.forget(each);
  await untilHolds(async () => expect(await open.index.size()).toBe(1));
  expect(ids(await dueAt(open, 100))).toEqual(['stays']);
});

test('an entry is forgotten together with the note that its request has changed, or not at all', async () => {
  await open.index.add([ref('a'), ref('@spans/x')], 100);
  await open.connection.set(open.keys.changedRequests, 'no sorted set');
  open.index.forget(ref('a'));
  open.index.flush();
  await open.connection.ping();
  expect(await open.index.size()).toBe(2);
  await open.connection.del(open.keys.changedRequests);
  open.index.forget(ref('@spans/x'));
  open.index.flush();
  await untilHolds(async () => expect(await open.index.size()).toBe(1));
  expect(await open.connection.exists(open.keys.changedRequests)).toBe(0);
  open.index.forget(ref('a'));
  open.index.flush();
  await untilHolds(async () => expect(await open.index.size()).toBe(0));
  expect(await open.connection.zrange(open.keys.changedRequests, '0', '-1')).toEqual(['r:1']);
});

test('a change that comes while its request is being indexed is taken once more', async () => {
  const changes = createChangedRequests(open.connection, open.keys);
  await changes.noteAll(['r:1', 'r:2'], 0);
  const first = await changes.take(10);
  expect(first.changes.map(({ requestId }) => requestId)).toEqual(['r:1', 'r:2']);
  expect((await changes.take(10)).changes).toEqual([]);
  await changes.noteAll(['r:1'], 0);
  // Another indexer took it in the same millisecond, and has not written its row.
  await open.connection.zadd(open.keys.changedRequests, first.heldUntil, 'r:other');
  await changes.done(first.heldUntil, ['r:1', 'r:2']);
  const left = () => open.connection.zrange(open.keys.changedRequests, '0', '-1');
  expect(await left()).toEqual(['r:1', 'r:other']);
  await changes.done(first.heldUntil, ['r:missing']);
  expect([await left(), await open.connection.exists(open.keys.takenChanges)]).toEqual([
    ['r:1', 'r:other'],
    1,
  ]);
  await changes.done(first.heldUntil, ['r:other']);
  expect([await left(), await open.connection.exists(open.keys.takenChanges)]).toEqual([['r:1'], 0]);
  expect((await changes.take(10)).changes.map(({ requestId }) => requestId)).toEqual(['r:1']);
});
