/** Why a directive waits, on a real Redis: said once for each reason, and never of one that runs or has ended.
 *  It must never assert on time beyond what Redis' own clock decides. */
import { expect, test } from 'vitest';
import type { WaitReason } from '../../../src/contract/request/waiting.ts';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { DEFAULT_REQUEST_BYTES } from '../../../src/store/request/journal.ts';
import { waitSignal } from '../../../src/store/request/wait-note.ts';
import { endOf, LANE, originOf } from '../../support/journal.ts';
import { useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();

type Open = Awaited<ReturnType<typeof openStore>>;

const waiting = (call: ToolExec, reason: WaitReason, untilAt: number | null = null) =>
  waitSignal(call, LANE, { reason, untilAt }, { ...originOf(call), attempt: 3 });

async function recordOf({ journal }: Open, { request_id, id }: ToolExec) {
  const record = await journal.directive(request_id, id);
  if (record === null) throw new Error('it is not in the journal');
  return record;
}

async function reasonsIn({ log }: Pick<Open, 'log'>, { request_id }: ToolExec) {
  const signals = await log(request_id);
  expect(signals.map(({ sequence }) => sequence)).toEqual(signals.map((_, index) => index + 1));
  return signals.map((signal) => (signal.type === 'directive.waiting' ? signal.data.reason : signal.type));
}

test('each reason is said once, however often it is found, and the record has the last one', async () => {
  await using open = await openStore(redis.url);
  const call = await open.accepted();
  const seen = await recordOf(open, call);
  const note = (reason: WaitReason, untilAt?: number) =>
    open.journal.noteWait(call.request_id, seen, waiting(call, reason, untilAt));
  const verdicts = await Promise.all([note('no_worker'), note('no_worker'), note('no_worker')]);
  expect(verdicts.toSorted()).toEqual(['known', 'known', 'said']);
  expect(await note('server_down', 1_800_000_000_000)).toBe('said');
  expect(await note('no_worker')).toBe('known');
  expect((await recordOf(open, call)).waits).toEqual({ reason: 'no_worker', untilAt: null });
  expect(await note('server_down', 1_900_000_000_000)).toBe('known');
  expect((await recordOf(open, call)).waits).toEqual({ reason: 'server_down', untilAt: 1_900_000_000_000 });
  expect(await reasonsIn(open, call)).toEqual(['no_worker', 'server_down']);
});

test('a worker that gives its claim back says why, in the same step, and the next claim ends it', async () => {
  await using open = await openStore(redis.url);
  const call = await open.accepted();
  for (const pauseMs of [0, 0, 60_000]) {
    const claim = await open.claimed(call);
    expect((await recordOf(open, call)).waits).toBeNull();
    const said = { waiting: waiting(call, 'rate_limited') };
    expect(await open.journal.release(claim, pauseMs, said)).toBe('released');
    // A repeat after a cut connection.
    expect(await open.journal.release(claim, pauseMs, said)).toBe('released');
  }
  const { waits, nextAttemptAt, status } = await recordOf(open, call);
  expect({ status, waits }).toEqual({
    status: 'waiting',
    waits: { reason: 'rate_limited', untilAt: nextAttemptAt },
  });
  expect(await reasonsIn(open, call)).toEqual(['ai.tool.started', 'rate_limited']);
  const [, signal] = await open.log(call.request_id);
  expect(signal).not.toHaveProperty('attempt');
});

test('a pause that is counted is logged again, and the record of its candidate comes with the next claim', async () => {
  await using open = await openStore(redis.url);
  const call = await open.accepted();
  for (const pauses of [1, 2]) {
    const claim = await open.claimed(call);
    const kept = { waiting: waiting(call, 'rate_limited'), repeated: true, stage: `stage ${pauses}` };
    expect(await open.journal.release(claim, 0, kept)).toBe('released');
    expect(await open.journal.release(claim, 0, kept)).toBe('released');
  }
  const { id, request_id: requestId } = call;
  const { digest } = await recordOf(open, call);
  const granted = await open.journal.claim({ requestId, id, digest, token: 'next', leaseMs: 10_000 });
  expect(granted).toMatchObject({ kind: 'granted', stage: 'stage 2' });
  expect(await reasonsIn(open, call)).toEqual(['ai.tool.started', 'rate_limited', 'rate_limited']);
});

test('nothing is said of a directive that runs, has ended, or is no longer as it was seen', async () => {
  await using open = await openStore(redis.url);
  const call = await open.accepted();
  const note = async (seen: Awaited<ReturnType<typeof recordOf>>) =>
    open.journal.noteWait(call.request_id, seen, waiting(call, 'concurrency'));
  const accepted = await recordOf(open, call);
  const claim = await open.claimed(call);
  expect([await note(accepted), await note(await recordOf(open, call))]).toEqual(['stale', 'stale']);
  await open.journal.finish(claim, 'succeeded', [endOf(call)]);
  expect([await note(accepted), await note(await recordOf(open, call))]).toEqual(['stale', 'stale']);
  expect(await reasonsIn(open, call)).toEqual(['ai.tool.started', 'ai.tool.result']);
  expect(await open.journal.noteWait('unknown', { ...accepted, id: 'a' }, waiting(call, 'concurrency'))).toBe(
    'stale',
  );
});

test('a full request is not filled further, and its directive ends all the same', async () => {
  await using open = await openStore(redis.url);
  const call = await open.accepted();
  const [state] = open.keys.request(call.request_id);
  await open.connection.hset(state, 'bytes', DEFAULT_REQUEST_BYTES);
  const seen = await recordOf(open, call);
  expect(await open.journal.noteWait(call.request_id, seen, waiting(call, 'no_worker'))).toBe('known');
  const claim = await open.claimed(call);
  expect(await open.journal.release(claim, 0, { waiting: waiting(call, 'server_down') })).toBe('released');
  expect((await recordOf(open, call)).waits?.reason).toBe('server_down');
  const again = await open.claimed(call);
  expect(await open.journal.finish(again, 'succeeded', [endOf(call)])).toMatchObject({ kind: 'ended' });
  expect(await reasonsIn(open, call)).toEqual(['ai.tool.started', 'ai.tool.result']);
});
