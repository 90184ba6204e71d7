/** The journal's scripts on a real Redis, standalone and as a cluster: what each allows and refuses.
 *  It must never assert on time beyond what Redis' own clock decides. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { pause } from '../../../src/platform/lifecycle.ts';
import { newShortId } from '../../../src/platform/telemetry/identifier.ts';
import {
  acceptance,
  claimOf,
  endOf,
  failureOf,
  LANE,
  RETENTION_MS,
  startedOf,
  toolCall,
} from '../../support/journal.ts';
import { startCluster } from '../../support/redis-cluster.ts';
import { startRedis } from '../../support/redis.ts';
import { eachTest, shared } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

describe.each([
  ['standalone', startRedis],
  ['a cluster of three', startCluster],
] as const)('the journal on %s', (_name, start) => {
  const redis = shared<AsyncDisposable & { url: string }>(start);
  const open = eachTest(() => openStore(redis.url));

  /** Accepted and claimed by one worker. */
  async function running(fields: Parameters<typeof toolCall>[0] = {}, leaseMs?: number) {
    const call = await open.accepted(fields);
    return { call, ref: await open.claimed(call, leaseMs) };
  }

  const recordOf = ({ request_id, id }: { request_id: string; id: string }) =>
    open.journal.directive(request_id, id);

  test('a request lists those that repeat it once each, in their order, the first ones only, and costs what it holds', async () => {
    const { request_id } = await open.accepted();
    const descendants = async () => (await open.journal.request(request_id))?.record.descendants;
    const [state] = open.keys.request(request_id);
    const bytes = async () => Number(await open.connection.hget(state, 'bytes'));
    const before = await bytes();
    expect(await descendants()).toBeUndefined();
    for (const other of ['aa', 'a', 'aa', 'b', 'c']) await open.journal.noteDescendant(request_id, other, 3);
    expect(await descendants()).toEqual(['aa', 'a', 'b']);
    expect((await bytes()) - before).toBe('aa a b '.length);
  });

  test('a request that is gone is not made again by one that repeats it', async () => {
    await open.journal.noteDescendant('gone', 'other', 3);
    expect(await open.connection.exists(...open.keys.request('gone'))).toBe(0);
  });

  test('the record of what runs says when it was claimed, by the token of its claim', async () => {
    const claimedAt = 1_795_423_363_797;
    const earlierVersions = '01a20848-e755-7076-acad-7038c58f52ef';
    for (const token of [newShortId(claimedAt), earlierVersions]) {
      const call = await open.accepted();
      await open.journal.claim({ ...claimOf(call), token });
      expect(await recordOf(call)).toMatchObject({
        status: 'running',
        claimedAt: token === earlierVersions ? 0x1a20848e755 : claimedAt,
      });
    }
  });

  test('refuses a whole batch when one id was accepted with other content', async () => {
    const request_id = randomUUID();
    const kept = toolCall({ request_id, id: 'a' });
    const other = toolCall({ request_id, id: 'a', arguments: { changed: true } });
    const fresh = toolCall({ request_id, id: 'b' });
    await open.journal.accept(request_id, [acceptance(kept)]);
    const verdict = await open.journal.accept(request_id, [acceptance(fresh), acceptance(other)]);
    expect(verdict).toEqual({ kind: 'conflict', id: 'a', storedDigest: acceptance(kept).digest });
    expect(await open.journal.directive(request_id, 'b')).toBeNull();
    expect((await open.journal.head(request_id))?.open).toBe(1);
  });

  test('grants one claim at a time and reports to the others how long it holds', async () => {
    const call = await open.accepted();
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => open.journal.claim(claimOf(call))));
    expect(verdicts.filter(({ kind }) => kind === 'granted')).toHaveLength(1);
    expect(verdicts.filter(({ kind }) => kind === 'held')).toHaveLength(19);
  });

  test('takes a repeated claim for the same grant, also after its lease', async () => {
    const call = await open.accepted();
    const request = claimOf(call, 1);
    const first = await open.journal.claim(request);
    await pause(20);
    expect(await open.journal.claim(request)).toMatchObject({ ...first, now: expect.any(Number) });
    expect((await recordOf(call))?.redeliveries).toBe(0);
    await pause(20);
    const takeover = claimOf(call);
    const taken = await open.journal.claim(takeover);
    expect(taken).toMatchObject({ kind: 'granted', lost: true, redeliveries: 1 });
    expect(await open.journal.claim(takeover)).toMatchObject({ ...taken, now: expect.any(Number) });
    expect((await open.journal.claim(request)).kind).toBe('held');
  });

  test('hands a claim over when its lease ran out, and fences the former holder', async () => {
    const { call, ref: dead } = await running({}, 1);
    await pause(20);
    const takeover = await open.journal.claim(claimOf(call));
    expect(takeover).toMatchObject({ kind: 'granted', lost: true, redeliveries: 1, failures: 0 });
    const stale = { kind: 'stale' };
    expect(await open.journal.finish(dead, 'succeeded', [endOf(call)])).toEqual(stale);
    expect(await open.journal.retry(dead, 0, [])).toEqual(stale);
    expect(await open.journal.log.append(dead, [endOf(call)])).toBe('stale');
    expect(await open.journal.extend(dead, 1000)).toBe('lost');
    const ref = { ...dead, fence: dead.fence + 1 };
    expect(await open.journal.finish(ref, 'succeeded', [endOf(call)])).toMatchObject({ kind: 'ended' });
  });

  test('goes on with its numbers where Redis has lost the log', async () => {
    const { call, ref } = await running();
    await open.connection.del(open.keys.log(call.request_id));
    for (const signal of [startedOf(call), startedOf(call)]) await open.journal.log.append(ref, [signal]);
    expect((await open.log(call.request_id)).map(({ sequence }) => sequence)).toEqual([2, 3]);
    expect(await open.journal.log.at(call.request_id, 1)).toBeNull();
  });

  test('begins the log anew where Redis has lost the state', async () => {
    const { call } = await running();
    await open.connection.del(open.keys.request(call.request_id)[0]);
    await open.journal.accept(call.request_id, [acceptance(call)]);
    await open.journal.claim(claimOf(call));
    expect((await open.log(call.request_id)).map(({ sequence }) => sequence)).toEqual([1]);
  });

  test('appends once what was sent twice because of a lost connection', async () => {
    const { call, ref } = await running();
    const [first, second] = [[startedOf(call), startedOf(call)], [startedOf(call)]];
    for (const signals of [first, first, second, second])
      expect(await open.journal.log.append(ref, signals)).toBe('appended');
    const log = (await open.journal.log.read(call.request_id, 1, { limit: 10, bytes: 10_000_000 })).signals;
    expect(log.map(({ id }) => id)).toEqual([...first, ...second].map(({ id }) => id));
    expect(log.map(({ sequence }) => sequence)).toEqual([2, 3, 4]);
  });

  test('ends a directive once, however often it is finished', async () => {
    const { call, ref } = await running();
    const finishes = await Promise.all(
      Array.from({ length: 10 }, () => open.journal.finish(ref, 'succeeded', [endOf(call)])),
    );
    expect(finishes.filter(({ kind }) => kind === 'ended')).toHaveLength(1);
    expect(finishes.filter(({ kind }) => kind === 'already')).toHaveLength(9);
    const types = (await open.log(call.request_id)).map(({ type }) => type);
    expect(types).toEqual(['ai.tool.started', 'ai.tool.result']);
    expect((await open.journal.claim(claimOf(call))).kind).toBe('ended');
  });

  test('keeps a retry waiting until it is due, and counts the failure once', async () => {
    const { call, ref } = await running({ max_retries: 2 });
    const first = await open.journal.retry(ref, 60_000, []);
    expect(await open.journal.retry(ref, 60_000, [])).toEqual(first);
    expect((await recordOf(call))?.failures).toBe(1);
    expect((await open.journal.claim(claimOf(call))).kind).toBe('wait');
  });

  test('moves a retry to the next model candidate and lane once, and allows no claim in the old one', async () => {
    const call = toolCall();
    const { request_id: requestId, id } = call;
    await open.journal.accept(requestId, [acceptance(call, 'llm.a')]);
    const claim = { ...claimOf(call), lane: 'llm.a' };
    const granted = await open.journal.claim(claim);
    expect(granted).toMatchObject({ kind: 'granted', stage: '', released: 0 });
    const ref = { requestId, id, fence: 1 };
    const move = { stage: '{"index":1}', lane: 'llm.b' };
    const signal = failureOf(call);
    const first = await open.journal.retry(ref, 0, [signal], move);
    expect(await open.journal.retry(ref, 0, [signal], move)).toEqual(first);
    expect(await open.journal.directive(requestId, id)).toMatchObject({ lane: 'llm.b', failures: 1 });
    expect(await open.log(requestId)).toHaveLength(2);
    const again = { ...claimOf(call), token: 'other' };
    expect(await open.journal.claim({ ...again, lane: 'llm.a' })).toEqual({ kind: 'moved', lane: 'llm.b' });
    expect(await open.journal.claim({ ...again, lane: 'llm.b' })).toMatchObject({
      kind: 'granted',
      stage: move.stage,
      failures: 1,
    });
    expect(await open.journal.claim(claim)).toEqual({ kind: 'moved', lane: 'llm.b' });
  });

  test('leaves the task of a call to the next claim, until the call is made anew', async () => {
    const { call, ref } = await running({ max_retries: 2 });
    const nextClaim = async () => {
      const verdict = await open.journal.claim(claimOf(call));
      if (verdict.kind !== 'granted') throw new Error(verdict.kind);
      return { ref: { ...ref, fence: verdict.fence }, task: verdict.task };
    };
    expect(await open.journal.keepTask(ref, 'first')).toBe('kept');
    expect(await open.journal.keepTask(ref, 'task')).toBe('kept');
    await open.journal.release(ref, 0);
    expect(await open.journal.keepTask(ref, 'of nobody')).toBe('stale');
    const second = await nextClaim();
    expect(await open.journal.keepTask(ref, 'of a claim before')).toBe('stale');
    await open.journal.release(second.ref, 0, { anew: true });
    const third = await nextClaim();
    await open.journal.keepTask(third.ref, 'another');
    await open.journal.retry(third.ref, 0, []);
    expect([second.task, third.task, (await nextClaim()).task]).toEqual(['task', null, null]);
  });

  test('counts a released claim as an attempt if readers have seen signals of it', async () => {
    const call = await open.accepted();
    for (const [seen, released] of [
      [false, 1],
      [true, 1],
      [false, 2],
    ] as const) {
      const ref = await open.claimed(call);
      for (let times = 0; times < 2; times += 1)
        expect(await open.journal.release(ref, 0, { seen })).toBe('released');
      expect((await recordOf(call))?.released).toBe(released);
    }
    expect(await open.journal.claim(claimOf(call))).toMatchObject({
      kind: 'granted',
      fence: 4,
      released: 2,
      failures: 0,
      redeliveries: 0,
      lost: false,
    });
  });

  test('sends a worker with another body back to the journal', async () => {
    const call = await open.accepted();
    expect((await open.journal.claim({ ...claimOf(call), digest: 'other' })).kind).toBe('stale_body');
  });

  test('knows nothing of what was never accepted', async () => {
    const call = toolCall();
    expect((await open.journal.claim(claimOf(call))).kind).toBe('unknown');
    expect(await open.journal.head(call.request_id)).toBeNull();
    expect(await recordOf(call)).toBeNull();
  });

  test('gives every key of a closed request an expiry, and takes it away when the request is opened again', async () => {
    const call = toolCall();
    const { request_id } = call;
    const expiries = () => Promise.all(open.keys.request(request_id).map((key) => open.connection.pttl(key)));
    await open.journal.accept(request_id, [acceptance(call)]);
    await open.journal.endUnclaimed(request_id, call.id, 'failed', [failureOf(call)]);
    for (const ms of await expiries())
      expect(ms).toSatisfy((left: number) => left > 0 && left <= RETENTION_MS);
    await open.journal.accept(request_id, [acceptance(toolCall({ request_id }))]);
    expect(await expiries()).toEqual([-1, -1, -1]);
    expect(await open.journal.head(request_id)).toMatchObject({ status: 'open', open: 1, closedAt: null });
  });

  test('ends immediate directives in the step that accepts them', async () => {
    const call = toolCall();
    const end = { status: 'failed' as const, signal: failureOf(call) };
    await open.journal.accept(call.request_id, [{ ...acceptance(call), end }]);
    expect(await open.journal.head(call.request_id)).toMatchObject({
      status: 'closed',
      open: 0,
      sequence: 1,
    });
    expect((await open.journal.log.at(call.request_id, 1))?.type).toBe('ai.tool.result');
  });

  test('cancels waiting directives at once, and requests it of running ones', async () => {
    const waiting = await open.accepted();
    const ended = await open.journal.cancel(waiting.request_id, waiting.id, failureOf(waiting));
    expect(ended.kind).toBe('ended');
    const again = await open.journal.cancel(waiting.request_id, waiting.id, failureOf(waiting));
    expect(again.kind).toBe('already');
    expect((await open.journal.claim(claimOf(waiting))).kind).toBe('ended');
    const { call, ref } = await running();
    const requested = await open.journal.cancel(call.request_id, call.id, failureOf(call));
    expect(requested.kind).toBe('requested');
    expect(await open.journal.extend(ref, 1000)).toBe('cancelled');
  });

  test('has the sweeper look when a lease ends, also where the claim follows another one', async () => {
    const nowMs = async (): Promise<number> => Number((await open.connection.time())[0]) * 1_000;
    const calls = [
      await open.accepted({}, 9e15),
      await open.accepted({}, 9e15),
      await open.accepted({}, 100),
    ];
    const from = await nowMs();
    for (const call of calls) await open.claimed(call, 60_000);
    const until = (await nowMs()) + 1_000;
    const looks = calls.map(({ request_id, id }) =>
      open.connection.zscore(open.keys.sweep, `${request_id}/${id}`),
    );
    const [first, second, earlier] = (await Promise.all(looks)).map(Number);
    for (const look of [first, second]) {
      // An answer that took a quarter of a second is still believed.
      expect(look).toBeGreaterThanOrEqual(from + 60_000 - 250);
      expect(look).toBeLessThanOrEqual(until + 60_000);
    }
    expect(earlier).toBe(100);
  });

  test('moves what begins later by the score of its announcement, also where that follows another one', async () => {
    const [before, call] = [toolCall(), toolCall()];
    await open.index.announce([{ requestId: before.request_id, id: before.id }], 5_000);
    const score = await open.index.announce([{ requestId: call.request_id, id: call.id }], 5_000);
    await open.later.add(call.request_id, [{ id: call.id, lane: LANE, when: 'd3600000' }], score);
    expect([await open.index.size(), await open.later.size()]).toEqual([1, 1]);
  });
});
