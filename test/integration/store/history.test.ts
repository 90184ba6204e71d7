/** When claims and turns began and ended, as the scripts note it on a real Redis: written once, bounded, gone with the request.
 *  It must not assert how long anything takes. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { claimOf, endOf, originOf, toolCall } from '../../support/journal.ts';
import { draftSignal } from '../../../src/store/log/signal-draft.ts';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { pause } from '../../../src/platform/lifecycle.ts';
import { newTraceparent } from '../../../src/platform/telemetry/traces/trace-context.ts';
import { startCluster } from '../../support/redis-cluster.ts';
import { startRedis } from '../../support/redis.ts';
import { eachTest, shared } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';
import { plainTurn } from '../../support/plain-turn.ts';

const progressOf = (call: ToolExec) =>
  draftSignal(
    'ai.tool.progress',
    { call_id: call.id, tool_name: call.tool_name, progress: 1, metadata: {} },
    originOf(call),
  );

describe.each([
  ['standalone', startRedis],
  ['a cluster of three', startCluster],
] as const)('the history on %s', (_name, start) => {
  const redis = shared<AsyncDisposable & { url: string }>(start);
  const open = eachTest(() => openStore(redis.url));

  async function claimsOf(call: ToolExec) {
    const history = await open.journal.history(call.request_id);
    const record = history?.directives.find(({ id }) => id === call.id);
    return record === undefined ? [] : (history?.claimsOf(record) ?? []);
  }

  const hows = async (call: ToolExec) => (await claimsOf(call)).map(({ end }) => end?.how ?? null);

  test('one attempt leaves nothing beside its record', async () => {
    const call = await open.accepted();
    const ref = await open.claimed(call);
    await open.journal.finish(ref, 'succeeded', [endOf(call)]);
    const fields = await open.connection.hkeys(open.keys.request(call.request_id)[0]);
    expect(fields.filter((field) => /\|(claim\d|cancel_at)/.test(field))).toEqual([]);
    expect(await claimsOf(call)).toMatchObject([{ fence: 1, claimedAt: expect.any(Number), end: null }]);
  });

  test('retries, pauses and their instants are noted, and a repeat of the command changes nothing', async () => {
    const call = await open.accepted({ max_retries: 3 });
    const first = await open.claimed(call);
    const retried = await open.journal.retry(first, 0, []);
    expect(await open.journal.retry(first, 0, [])).toEqual(retried);
    const second = await open.claimed(call);
    for (const _ of [1, 2]) await open.journal.release(second, 0, { reason: 'rate_limited' });
    const third = await open.claimed(call);
    await open.journal.retry(third, 0, [], { stage: '{}', lane: 'tool.other' });
    const claims = await claimsOf(call);
    expect(claims.map(({ end }) => end && [end.how, end.delayMs, end.counted])).toEqual([
      ['retry', 0, true],
      ['rate_limited', 0, false],
      ['fallback', 0, true],
    ]);
    const instants = claims.flatMap(({ claimedAt, end }) => [claimedAt ?? 0, end?.at ?? 0]);
    expect(instants).toEqual(instants.toSorted((left, right) => left - right));
  });

  test('the first output of each attempt is noted once', async () => {
    const call = await open.accepted();
    const first = await open.claimed(call);
    await open.journal.log.append(first, [progressOf(call)]);
    const [before] = await claimsOf(call);
    await pause(5);
    await open.journal.log.append(first, [progressOf(call)]);
    expect(await claimsOf(call)).toEqual([before]);
    expect(before?.firstOutputAt).toEqual(expect.any(Number));
    await open.journal.retry(first, 0, []);
    expect((await claimsOf(call))[0]).toMatchObject({
      firstOutputAt: before?.firstOutputAt,
      end: { how: 'retry' },
    });
    await open.claimed(call);
    expect((await claimsOf(call))[1]).toMatchObject({ fence: 2, firstOutputAt: null, end: null });
  });

  test('an attempt whose worker died ends with its lease, whoever finds out', async () => {
    const [redelivered, ended, cancelled] = await Promise.all([1, 2, 3].map(() => open.accepted()));
    if (!redelivered || !ended || !cancelled) throw new Error('nothing was accepted');
    for (const call of [redelivered, ended, cancelled]) await open.claimed(call, 1);
    await pause(20);
    const taken = await open.claimed(redelivered);
    await open.journal.finish(taken, 'failed', [endOf(redelivered)], { attempted: false });
    await open.journal.endUnclaimed(ended.request_id, ended.id, 'failed', [endOf(ended)]);
    await open.journal.cancel(cancelled.request_id, cancelled.id, endOf(cancelled));
    expect(await hows(redelivered)).toEqual(['lost', 'unused']);
    expect(await hows(ended)).toEqual(['lost']);
    expect(await hows(cancelled)).toEqual(['lost']);
  });

  test('a cancellation of what runs has its instant', async () => {
    const call = await open.accepted();
    await open.claimed(call);
    await open.journal.cancel(call.request_id, call.id, endOf(call), 'enough');
    const history = await open.journal.history(call.request_id);
    expect(history?.cancelAskedAt(call.id)).toBeLessThanOrEqual(history?.now ?? 0);
  });

  test('of a directive that is claimed again and again the newest claims are kept', async () => {
    const call = await open.accepted();
    const most = 40;
    for (let count = 0; count < most; count += 1) {
      const ref = await open.claimed(call);
      await open.journal.release(ref, 0, { reason: 'server_down' });
    }
    const claims = await claimsOf(call);
    expect(claims).toHaveLength(33);
    expect(claims.at(-1)?.fence).toBe(most);
  });

  test('of a run with very many turns the newest are kept, and a repeated commit notes nothing', async () => {
    const requestId = randomUUID();
    const traceparent = newTraceparent();
    await open.runs.start({ requestId, digest: 'd', agent: 'a', spec: '{}', traceparent });
    const turn = plainTurn(requestId);
    for (let version = 0; version < 130; version += 1) {
      const commit = { ...turn, version, token: randomUUID() };
      await open.runs.commit(commit);
      if (version % 50 === 0) await open.runs.commit(commit);
    }
    const turns = (await open.journal.history(requestId))?.turns ?? [];
    expect(turns.map(({ version }) => version)).toEqual(Array.from({ length: 128 }, (_, index) => index + 3));
    expect(turns.every(({ readAt, writtenAt }) => readAt === turn.readAt && writtenAt > 0)).toBe(true);
  });

  test('nothing of it outlives the request', async () => {
    const call = await open.accepted();
    const ref = await open.claimed(call);
    await open.journal.retry(ref, 0, []);
    const again = await open.journal.claim(claimOf(call));
    if (again.kind !== 'granted') throw new Error(again.kind);
    await open.journal.finish({ ...ref, fence: again.fence }, 'succeeded', [endOf(call)]);
    expect(await open.connection.pttl(open.keys.request(call.request_id)[0])).toBeGreaterThan(0);
    expect(await open.journal.history(toolCall().request_id)).toBeNull();
  });
});
