/** The first claim of a directive and its end as one field each: when they are one, what makes fields of a claim, and what an older process does with them.
 *  It must never write through our own scripts what only an older version would write. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ClaimRef } from '../../../src/journal/journal.ts';
import { newShortId } from '../../../src/telemetry/identifier.ts';
import { claimOf, endOf, failureOf, RETENTION_MS, startedOf, toolCall } from '../../support/journal.ts';
import { setLeaseEnd } from '../../support/lease.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));

type Call = ReturnType<typeof toolCall>;

const OF_A_CLAIM = ['fence', 'lease_until', 'claimant', 'started_at'];

/** The fields of the state that say something of a claim, without the id. */
async function fieldsOf({ request_id, id }: Call): Promise<string[]> {
  const names = await open.connection.hkeys(stateOf({ request_id }));
  const own = names.filter((name) => name.startsWith(`${id}|`)).map((name) => name.slice(id.length + 1));
  return own.filter((name) => name === 'first' || OF_A_CLAIM.includes(name)).toSorted();
}

function stateOf({ request_id }: Pick<Call, 'request_id'>): string {
  return open.keys.request(request_id)[0];
}

const recordOf = ({ request_id, id }: Call) => open.journal.directive(request_id, id);

function claim(call: Call, token = newShortId()) {
  return open.journal.claim({ ...claimOf(call), token });
}

async function held(): Promise<{ call: Call; ref: ClaimRef }> {
  const call = await open.accepted();
  const verdict = await claim(call);
  if (verdict.kind !== 'granted') throw new Error(verdict.kind);
  expect(await fieldsOf(call)).toEqual(['first']);
  expect(await open.connection.object('ENCODING', stateOf(call))).toBe('listpack');
  return { call, ref: { requestId: call.request_id, id: call.id, fence: verdict.fence } };
}

const PARTED = ['claimant', 'fence', 'lease_until', 'started_at'];

test('it is one field until it succeeds, and says what four would', async () => {
  const { call, ref } = await held();
  const running = await recordOf(call);
  expect(running).toMatchObject({ status: 'running', fence: 1 });
  expect(running?.startedAt).toBeGreaterThan(0);
  expect(running?.leaseUntil).toBeGreaterThan(running?.startedAt ?? Infinity);
  expect(running?.claimedAt).toBeGreaterThan(0);
  await open.journal.finish(ref, 'succeeded', [endOf(call)]);
  expect(await fieldsOf(call)).toEqual(['first']);
  expect(await recordOf(call)).toMatchObject({
    status: 'succeeded',
    fence: 1,
    startedAt: running?.startedAt,
  });
});

test('a repeat of the claim is the same grant, another one is not, and a fence that is none is stale', async () => {
  const call = await open.accepted();
  const token = newShortId();
  const granted = await claim(call, token);
  expect((await claim(call)).kind).toBe('held');
  expect(await claim(call, token)).toMatchObject({ ...granted, now: expect.any(Number) });
  expect(await fieldsOf(call)).toEqual(PARTED);
  const { call: other, ref } = await held();
  const stale = { ...ref, fence: 2 };
  expect(await open.journal.extend(stale, 1_000)).toBe('lost');
  expect((await open.journal.finish(stale, 'succeeded', [endOf(other)])).kind).toBe('stale');
  expect((await open.journal.retry(stale, 0, [])).kind).toBe('stale');
  expect(await open.journal.release(stale, 0)).toBe('stale');
  expect(await fieldsOf(other)).toEqual(['first']);
});

test.each([
  ['the heartbeat', (ref: ClaimRef) => open.journal.extend(ref, 60_000)],
  ['a retry', (ref: ClaimRef) => open.journal.retry(ref, 0, [])],
  ['a release', (ref: ClaimRef) => open.journal.release(ref, 0)],
  ['a failure', (ref: ClaimRef, call: Call) => open.journal.finish(ref, 'failed', [failureOf(call)])],
])('%s makes fields of it', async (_what, change) => {
  const { call, ref } = await held();
  const before = await recordOf(call);
  await change(ref, call);
  expect(await fieldsOf(call)).toEqual(PARTED);
  expect(await recordOf(call)).toMatchObject({ fence: 1, startedAt: before?.startedAt });
});

test('after its lease another worker has the second one, and hears of the first', async () => {
  const { call, ref } = await held();
  await setLeaseEnd(open.connection, stateOf(call), call.id, 1_700_000_000_000);
  expect(await claim(call)).toMatchObject({ kind: 'granted', fence: 2, redeliveries: 1 });
  expect(await fieldsOf(call)).toEqual(PARTED);
  expect(await recordOf(call)).toMatchObject({ status: 'running', fence: 2, redeliveries: 1 });
  expect((await open.journal.finish(ref, 'succeeded', [endOf(call)])).kind).toBe('stale');
});

test('a cancellation spares it, and ends it when its lease is over', async () => {
  const { call } = await held();
  const cancel = async () =>
    open.journal.cancel(
      call.request_id,
      call.id,
      failureOf(call, 'cancelled'),
      '',
      (await recordOf(call)) ?? undefined,
    );
  expect((await cancel()).kind).toBe('requested');
  await setLeaseEnd(open.connection, stateOf(call), call.id, 1);
  expect((await cancel()).kind).toBe('ended');
  expect(await fieldsOf(call)).toEqual(PARTED);
});

test('a claim that an older process has written is extended, repeated, started, retried, lost and ended', async () => {
  const call = await open.accepted();
  const fields = { status: 'running', fence: 1, lease_until: Date.now() + 60_000, claimant: 'older/0' };
  const state = stateOf(call);
  for (const [name, value] of Object.entries(fields))
    await open.connection.hset(state, `${call.id}|${name}`, value);
  const ref = { requestId: call.request_id, id: call.id, fence: 1 };
  expect((await claim(call)).kind).toBe('held');
  expect(await claim(call, 'older')).toMatchObject({ kind: 'granted', fence: 1 });
  const granted = { now: Date.now(), deadlineAt: Date.now() + 60_000 };
  expect(await open.journal.reportStart(ref, granted, 60_000, startedOf(call))).not.toBeNull();
  expect(await open.journal.extend(ref, 60_000)).toBe('extended');
  expect((await open.journal.retry(ref, 0, [])).kind).toBe('waiting');
  expect(await claim(call)).toMatchObject({ kind: 'granted', fence: 2 });
  await setLeaseEnd(open.connection, state, call.id, 1);
  expect(await claim(call)).toMatchObject({ kind: 'granted', fence: 3, redeliveries: 1 });
  expect((await open.journal.finish({ ...ref, fence: 3 }, 'succeeded', [endOf(call)])).kind).toBe('ended');
  expect(await fieldsOf(call)).not.toContain('first');
});

function older(script: string, call: Call, args: readonly (string | number)[]) {
  const text = readFileSync(new URL(`../../support/older/${script}.lua`, import.meta.url), 'utf8');
  return open.connection.eval(text, 3, ...open.keys.request(call.request_id), ...args);
}

test.each([Date.now() + 3_600_000, 1_700_000_000_000])(
  'an older process neither takes nor ends it, nor writes anything: its lease ends at %d',
  async (leaseEnd) => {
    const { call } = await held();
    await setLeaseEnd(open.connection, stateOf(call), call.id, leaseEnd);
    const before = await open.connection.hgetall(stateOf(call));
    const digest = claimOf(call).digest;
    const signal = '{"id":"x","type":"ai.tool.result","data":{}}';
    await expect(older('claim', call, [call.id, digest, 6_000, 0, 'older', '', ''])).rejects.toThrow(
      'nil value',
    );
    const end = [call.id, '', 'failed', RETENTION_MS, '0', 1_000_000, signal];
    await expect(older('finish', call, end)).rejects.toThrow('boolean');
    await expect(older('cancel', call, [call.id, RETENTION_MS, signal, '', 'running/0', ''])).rejects.toThrow(
      'boolean',
    );
    expect(await open.connection.hgetall(stateOf(call))).toEqual(before);
    expect(await open.log(call.request_id)).toHaveLength(1);
  },
);

test('its end is one field, which an older process neither repeats nor overwrites', async () => {
  const { call, ref } = await held();
  await open.journal.finish(ref, 'succeeded', [endOf(call)]);
  const [state] = open.keys.request(call.request_id);
  const before = await open.connection.hgetall(state);
  const record = await recordOf(call);
  expect(before[`${call.id}|end`]).toBe(`${String(record?.endedAt)} ${String(record?.terminal)}`);
  expect(Object.keys(before).filter((name) => /\|(ended_at|terminal)$/.test(name))).toEqual([]);
  expect(await open.connection.object('ENCODING', state)).toBe('listpack');
  const log = await open.log(call.request_id);
  expect(record?.terminal).toBe(log.length);
  const signal = '{"id":"x","type":"ai.tool.result","data":{}}';
  const end = [call.id, '', 'failed', RETENTION_MS, '0', 1_000_000, signal];
  expect(await older('finish', call, end)).toEqual(['already', 'succeeded']);
  const cancel = [call.id, RETENTION_MS, signal, '', 'running/0', ''];
  expect(await older('cancel', call, cancel)).toContain('already');
  const { digest } = claimOf(call);
  expect(await older('claim', call, [call.id, digest, 6_000, 0, 'older', '', ''])).toContain('ended');
  expect(await open.connection.hgetall(state)).toEqual(before);
  expect(await open.log(call.request_id)).toEqual(log);
});

test('an end that an older process has written is read, and is the end', async () => {
  const call = await open.accepted();
  const signal = JSON.stringify(failureOf(call));
  await older('finish', call, [call.id, '', 'failed', RETENTION_MS, '0', 1_000_000, signal]);
  const record = await recordOf(call);
  expect(record).toMatchObject({ status: 'failed', terminal: (await open.log(call.request_id)).length });
  const [state] = open.keys.request(call.request_id);
  const [endedAt, end] = await open.connection.hmget(state, `${call.id}|ended_at`, `${call.id}|end`);
  expect([record?.endedAt, end]).toEqual([Number(endedAt), null]);
  const ref = { requestId: call.request_id, id: call.id, fence: 0 };
  const again = await open.journal.finish(ref, 'succeeded', [endOf(call)]);
  expect(again).toMatchObject({ kind: 'already', terminal: record?.terminal });
});
