/** The journal's scripts on a real Redis, standalone and as a cluster: what each allows and refuses.
 *  It must never assert on time beyond what Redis' own clock decides. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ClaimVerdict } from '../../../src/journal/verdicts.ts';
import { pause } from '../../../src/lifecycle.ts';
import {
  acceptance,
  claimOf,
  endOf,
  failureOf,
  RETENTION_MS,
  startedOf,
  toolCall,
} from '../../support/journal.ts';
import { openStore } from '../../support/store.ts';
import { startCluster } from '../../support/redis-cluster.ts';
import { startRedis } from '../../support/redis.ts';
import { shared } from '../../support/shared.ts';

function fenceOf(verdict: ClaimVerdict): number {
  if (verdict.kind !== 'granted') throw new Error(`not granted but ${verdict.kind}`);
  return verdict.fence;
}

describe.each([
  ['standalone', startRedis],
  ['a cluster of three', startCluster],
] as const)('the journal on %s', (_name, start) => {
  const redis = shared<AsyncDisposable & { url: string }>(start);

  test('accepts a directive once and recognises its repeat', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    const first = await open.journal.accept(call.request_id, [acceptance(call)]);
    const again = await open.journal.accept(call.request_id, [acceptance(call)]);
    expect(first).toMatchObject({ kind: 'ok', verdicts: ['accepted'] });
    expect(again).toMatchObject({ kind: 'ok', verdicts: ['existing'] });
    expect((await open.journal.head(call.request_id))?.open).toBe(1);
  });

  test('refuses a whole batch when one id was accepted with other content', async () => {
    await using open = await openStore(redis.url);
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

  test('refuses a batch that names one id twice with different content', async () => {
    await using open = await openStore(redis.url);
    const request_id = randomUUID();
    const batch = [toolCall({ request_id, id: 'a' }), toolCall({ request_id, id: 'a', arguments: { x: 1 } })];
    expect(
      await open.journal.accept(
        request_id,
        batch.map((call) => acceptance(call)),
      ),
    ).toMatchObject({ kind: 'conflict', id: 'a' });
    expect(await open.journal.head(request_id)).toBeNull();
  });

  test('grants one claim at a time and reports to the others how long it holds', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => open.journal.claim(claimOf(call))));
    expect(verdicts.filter(({ kind }) => kind === 'granted')).toHaveLength(1);
    expect(verdicts.filter(({ kind }) => kind === 'held')).toHaveLength(19);
  });

  test('takes a repeated claim for the same grant, also after its lease', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    const request = claimOf(call, 1);
    const first = await open.journal.claim(request);
    await pause(20);
    expect(await open.journal.claim(request)).toMatchObject({ ...first, now: expect.any(Number) });
    expect((await open.journal.directive(call.request_id, call.id))?.redeliveries).toBe(0);
    await pause(20);
    const takeover = claimOf(call);
    const taken = await open.journal.claim(takeover);
    expect(taken).toMatchObject({ kind: 'granted', lost: true, redeliveries: 1 });
    expect(await open.journal.claim(takeover)).toMatchObject({ ...taken, now: expect.any(Number) });
    expect((await open.journal.claim(request)).kind).toBe('held');
  });

  test('announces the start at the first claim only', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    const first = fenceOf(await open.journal.claim(claimOf(call)));
    await open.journal.release({ requestId: call.request_id, id: call.id, fence: first }, 0);
    fenceOf(await open.journal.claim(claimOf(call)));
    const log = (await open.journal.log.read(call.request_id, 0, { limit: 10, bytes: 10_000_000 })).signals;
    expect(log.map(({ type, sequence }) => [type, sequence])).toEqual([['ai.tool.started', 1]]);
  });

  test('hands a claim over when its lease ran out, and fences the former holder', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    const ref = { requestId: call.request_id, id: call.id };
    const dead = fenceOf(await open.journal.claim(claimOf(call, 1)));
    await pause(20);
    const takeover = await open.journal.claim(claimOf(call));
    expect(takeover).toMatchObject({ kind: 'granted', lost: true, redeliveries: 1, failures: 0 });
    expect(await open.journal.finish({ ...ref, fence: dead }, 'succeeded', [endOf(call)])).toEqual({
      kind: 'stale',
    });
    expect(await open.journal.retry({ ...ref, fence: dead }, 0, [])).toEqual({ kind: 'stale' });
    expect(await open.journal.log.append({ ...ref, fence: dead }, [endOf(call)])).toBe('stale');
    expect(await open.journal.extend({ ...ref, fence: dead }, 1000)).toBe('lost');
    expect(
      await open.journal.finish({ ...ref, fence: fenceOf(takeover) }, 'succeeded', [endOf(call)]),
    ).toMatchObject({ kind: 'ended' });
  });

  test('appends once what was sent twice because of a lost connection', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    const ref = {
      requestId: call.request_id,
      id: call.id,
      fence: fenceOf(await open.journal.claim(claimOf(call))),
    };
    const [first, second] = [[startedOf(call), startedOf(call)], [startedOf(call)]];
    for (const signals of [first, first, second, second])
      expect(await open.journal.log.append(ref, signals)).toBe('appended');
    const log = (await open.journal.log.read(call.request_id, 1, { limit: 10, bytes: 10_000_000 })).signals;
    expect(log.map(({ id }) => id)).toEqual([...first, ...second].map(({ id }) => id));
    expect(log.map(({ sequence }) => sequence)).toEqual([2, 3, 4]);
  });

  test('extends a lease for its holder', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    const fence = fenceOf(await open.journal.claim(claimOf(call, 1)));
    expect(await open.journal.extend({ requestId: call.request_id, id: call.id, fence }, 60_000)).toBe(
      'extended',
    );
    await pause(20);
    expect((await open.journal.claim(claimOf(call))).kind).toBe('held');
  });

  test('ends a directive once, however often it is finished', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    const ref = {
      requestId: call.request_id,
      id: call.id,
      fence: fenceOf(await open.journal.claim(claimOf(call))),
    };
    const finishes = await Promise.all(
      Array.from({ length: 10 }, () => open.journal.finish(ref, 'succeeded', [endOf(call)])),
    );
    expect(finishes.filter(({ kind }) => kind === 'ended')).toHaveLength(1);
    expect(finishes.filter(({ kind }) => kind === 'already')).toHaveLength(9);
    const types = (
      await open.journal.log.read(call.request_id, 0, { limit: 100, bytes: 10_000_000 })
    ).signals.map(({ type }) => type);
    expect(types).toEqual(['ai.tool.started', 'ai.tool.result']);
    expect((await open.journal.claim(claimOf(call))).kind).toBe('ended');
  });

  test('keeps a retry waiting until it is due, and counts the failure once', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall({ max_retries: 2 });
    await open.journal.accept(call.request_id, [acceptance(call)]);
    const ref = {
      requestId: call.request_id,
      id: call.id,
      fence: fenceOf(await open.journal.claim(claimOf(call))),
    };
    const first = await open.journal.retry(ref, 60_000, []);
    expect(await open.journal.retry(ref, 60_000, [])).toEqual(first);
    expect((await open.journal.directive(call.request_id, call.id))?.failures).toBe(1);
    expect((await open.journal.claim(claimOf(call))).kind).toBe('wait');
  });

  test('moves a retry to the next model candidate and lane once, and allows no claim in the old one', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    const { request_id: requestId, id } = call;
    await open.journal.accept(requestId, [acceptance(call, 'llm.a')]);
    const claim = { ...claimOf(call), lane: 'llm.a' };
    const granted = await open.journal.claim(claim);
    expect(granted).toMatchObject({ kind: 'granted', stage: '', released: 0 });
    const ref = { requestId, id, fence: fenceOf(granted) };
    const move = { stage: '{"index":1}', lane: 'llm.b' };
    const signal = failureOf(call);
    const first = await open.journal.retry(ref, 0, [signal], move);
    expect(await open.journal.retry(ref, 0, [signal], move)).toEqual(first);
    expect(await open.journal.directive(requestId, id)).toMatchObject({ lane: 'llm.b', failures: 1 });
    expect(
      (await open.journal.log.read(requestId, 0, { limit: 10, bytes: 10_000_000 })).signals,
    ).toHaveLength(2);
    const again = { ...claimOf(call), token: 'other' };
    expect(await open.journal.claim({ ...again, lane: 'llm.a' })).toEqual({ kind: 'moved', lane: 'llm.b' });
    expect(await open.journal.claim({ ...again, lane: 'llm.b' })).toMatchObject({
      kind: 'granted',
      stage: move.stage,
      failures: 1,
    });
    expect(await open.journal.claim(claim)).toEqual({ kind: 'moved', lane: 'llm.b' });
  });

  test('counts a released claim as an attempt if readers have seen signals of it', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    const { request_id: requestId, id } = call;
    await open.journal.accept(requestId, [acceptance(call)]);
    for (const [seen, released] of [
      [false, 1],
      [true, 1],
      [false, 2],
    ] as const) {
      const ref = { requestId, id, fence: fenceOf(await open.journal.claim(claimOf(call))) };
      for (let times = 0; times < 2; times += 1)
        expect(await open.journal.release(ref, 0, { seen })).toBe('released');
      expect((await open.journal.directive(requestId, id))?.released).toBe(released);
    }
    expect(await open.journal.claim(claimOf(call))).toMatchObject({ fence: 4, released: 2 });
  });

  test('does not count a released claim as an attempt', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    const ref = {
      requestId: call.request_id,
      id: call.id,
      fence: fenceOf(await open.journal.claim(claimOf(call))),
    };
    expect(await open.journal.release(ref, 0)).toBe('released');
    expect(await open.journal.claim(claimOf(call))).toMatchObject({
      kind: 'granted',
      failures: 0,
      redeliveries: 0,
      lost: false,
    });
  });

  test('refuses to start after the deadline', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall({ deadline_ms: 1 });
    await open.journal.accept(call.request_id, [acceptance(call)]);
    await pause(10);
    expect((await open.journal.claim(claimOf(call))).kind).toBe('expired');
  });

  test('sends a worker with another body back to the journal', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    await open.journal.accept(call.request_id, [acceptance(call)]);
    expect((await open.journal.claim({ ...claimOf(call), digest: 'other' })).kind).toBe('stale_body');
  });

  test('knows nothing of what was never accepted', async () => {
    await using open = await openStore(redis.url);
    const call = toolCall();
    expect((await open.journal.claim(claimOf(call))).kind).toBe('unknown');
    expect(await open.journal.head(call.request_id)).toBeNull();
    expect(await open.journal.directive(call.request_id, call.id)).toBeNull();
  });

  test('numbers the signals of concurrent writers densely', async () => {
    await using open = await openStore(redis.url);
    const request_id = randomUUID();
    const calls = Array.from({ length: 50 }, () => toolCall({ request_id }));
    await open.journal.accept(
      request_id,
      calls.map((call) => acceptance(call)),
    );
    await Promise.all(
      calls.map(async (call) => {
        const fence = fenceOf(await open.journal.claim(claimOf(call)));
        await open.journal.finish({ requestId: request_id, id: call.id, fence }, 'failed', [failureOf(call)]);
      }),
    );
    const log = (await open.journal.log.read(request_id, 0, { limit: 1000, bytes: 10_000_000 })).signals;
    expect(log.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    expect(await open.journal.head(request_id)).toMatchObject({ status: 'closed', open: 0, sequence: 100 });
  });

  test('gives every key of a closed request an expiry, and takes it away when the request is opened again', async () => {
    await using open = await openStore(redis.url);
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
    await using open = await openStore(redis.url);
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
    await using open = await openStore(redis.url);
    const waiting = toolCall();
    await open.journal.accept(waiting.request_id, [acceptance(waiting)]);
    expect((await open.journal.cancel(waiting.request_id, waiting.id, failureOf(waiting))).kind).toBe(
      'ended',
    );
    expect((await open.journal.claim(claimOf(waiting))).kind).toBe('ended');

    const running = toolCall();
    await open.journal.accept(running.request_id, [acceptance(running)]);
    const fence = fenceOf(await open.journal.claim(claimOf(running)));
    expect((await open.journal.cancel(running.request_id, running.id, failureOf(running))).kind).toBe(
      'requested',
    );
    expect(await open.journal.extend({ requestId: running.request_id, id: running.id, fence }, 1000)).toBe(
      'cancelled',
    );
  });
});
