/** Directives that begin later, on a real Redis: none before its instant, each once, and those that come too late never.
 *  It must never judge an instant by another clock than that of Redis. */
import { describe, expect, test, vi } from 'vitest';
import { done, inTurn } from '../../support/executors.ts';
import { claimOf, LANE, toolCall } from '../../support/journal.ts';
import { call, calls, errorOf, openPipeline } from '../../support/pipeline.ts';
import { eventually } from '../../support/eventually.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const YEAR_MS = 365 * 86_400_000;

async function now(): Promise<number> {
  const [seconds, micros] = await open.connection.time();
  return Number(seconds) * 1000 + Number(micros) / 1000;
}

const scoreOf = async ({ request_id, id }: { request_id: string; id: string }) => {
  const score = await open.connection.zscore(open.keys.later[0], `${request_id}/${id}|${LANE}`);
  return score === null ? null : Number(score);
};

const ended = async (given: { request_id: string; id: string }): Promise<void> =>
  expect(await open.resultOf(given)).toMatchObject({
    type: 'ai.tool.result',
    data: { result: { ok: true } },
  });

/** As if so much time had passed for what waits. */
async function letPass(given: { request_id: string; id: string }, ms: number): Promise<void> {
  const [state] = open.keys.request(given.request_id);
  const [next, begin] = await open.connection.hmget(
    state,
    `${given.id}|next_attempt_at`,
    `${given.id}|begin`,
  );
  const moved = (text = ''): string => text.replaceAll(/\d+/g, (at) => String(Number(at) - ms));
  await open.connection.hset(state, `${given.id}|next_attempt_at`, moved(next ?? ''));
  await open.connection.hset(state, `${given.id}|begin`, moved(begin ?? ''));
  await open.connection.zincrby(open.keys.later[0], -ms, `${given.request_id}/${given.id}|${LANE}`);
}

describe('a directive with a delay', () => {
  test('begins after it, by the clock of Redis, and its deadline counts from there', async () => {
    const begun: number[] = [];
    await open.startWorker(async () => {
      begun.push(await now());
      return done;
    });
    await open.sweeper().start();
    const later = calls(20, { delay_ms: 300, deadline_ms: 60_000 });
    await open.client.submit(later);
    for (const each of later) await ended(each);
    const [first = call()] = later;
    const record = await open.recordOf(first);
    expect(record?.begin?.at).toBe((record?.acceptedAt ?? 0) + 300);
    expect(record?.deadlineAt).toBe((record?.begin?.at ?? 0) + 60_000);
    expect(begun).toHaveLength(20);
    expect(Math.min(...begun)).toBeGreaterThanOrEqual(record?.begin?.at ?? Infinity);
    expect(await open.later.size()).toBe(0);
    expect(await open.later.counts()).toEqual(new Map());
  });

  test('has no job before, is counted with its lane, and says until when it waits', async () => {
    const given = call({ delay_ms: YEAR_MS });
    await open.client.submit(given);
    expect(await open.jobs()).toBe(0);
    expect(await open.later.counts()).toEqual(new Map([[LANE, 1]]));
    expect(await open.index.size()).toBe(0);
    const view = await open.client.directive(given.request_id, given.id);
    expect(view).toMatchObject({ status: 'waiting', waiting: { reason: 'later', until: view?.begins_at } });
    const [state, bodies] = open.keys.request(given.request_id);
    expect(await open.connection.pttl(state)).toBe(-1);
    expect(await open.connection.pttl(bodies)).toBe(-1);
  });

  test('is the same directive when it is repeated, and keeps its instant', async () => {
    const given = call({ delay_ms: 60_000 });
    await open.client.submit(given);
    const at = await scoreOf(given);
    await letPass(given, 10_000);
    const again = await open.client.submit(given);
    expect(again.directives[0]?.status).toBe('existing');
    expect(await scoreOf(given)).toBe((at ?? 0) - 10_000);
    await expect(open.client.submit({ ...given, delay_ms: 50_000 })).rejects.toMatchObject({
      problem: { code: 'id_conflict' },
    });
  });

  test('is refused a claim until its instant, whoever asks', async () => {
    const given = toolCall({ delay_ms: 60_000 } as never);
    await open.client.submit(given);
    const verdict = await open.journal.claim(claimOf(given));
    expect(verdict).toMatchObject({ kind: 'wait', until: (await open.recordOf(given))?.begin?.at });
    await letPass(given, 60_000);
    expect((await open.journal.claim(claimOf(given))).kind).toBe('granted');
  });

  test('ends at once when it is cancelled, and leaves nothing that waits', async () => {
    const given = call({ delay_ms: YEAR_MS });
    await open.client.submit(given);
    const cancelled = await open.client.cancel(given.request_id, given.id);
    expect(cancelled?.directives).toMatchObject([{ status: 'cancelled' }]);
    expect(errorOf(await open.resultOf(given)).type).toBe('cancelled');
    expect(await open.later.size()).toBe(0);
    expect(await open.later.counts()).toEqual(new Map());
    expect(await open.connection.pttl(open.keys.request(given.request_id)[0])).toBeGreaterThan(0);
  });

  test('that is cancelled is forgotten soon, though whoever cancelled it died then', async () => {
    const given = call({ delay_ms: YEAR_MS });
    await open.client.submit(given);
    vi.spyOn(open.later, 'drop').mockRejectedValueOnce(new Error('it died'));
    await open.store.queue.canceller.cancel(given.request_id, given.id, undefined);
    expect(await open.later.size()).toBe(1);
    expect(await open.index.size()).toBe(1);
    await open.index.add([{ requestId: given.request_id, id: given.id }], 1);
    await open.sweeper().sweep();
    expect([await open.later.size(), await open.later.counts()]).toEqual([0, new Map()]);
    await eventually(() => open.index.size()).toBe(0);
  });

  test('goes on after the sweeper that took it died', async () => {
    const given = call({ delay_ms: 60_000 });
    await open.client.submit(given);
    await letPass(given, 60_000);
    // Taken, and then nothing.
    expect((await open.later.take(10)).entries).toHaveLength(1);
    await open.startWorker(inTurn(done).execute);
    await open.sweeper().start();
    await ended(given);
  });

  test('waits in the sweep index only until the sweeper finds that it begins much later', async () => {
    const given = call({ delay_ms: 60_000 });
    await open.client.submit(given);
    const at = await scoreOf(given);
    await open.connection.zrem(open.keys.later[0], `${given.request_id}/${given.id}|${LANE}`);
    await open.connection.hdel(open.keys.later[1], LANE);
    await open.index.add([{ requestId: given.request_id, id: given.id }], 1);
    await open.sweeper().sweep();
    expect(await scoreOf(given)).toBe(at);
    expect(await open.index.size()).toBe(0);
    expect(await open.later.counts()).toEqual(new Map([[LANE, 1]]));
  });
});

test('an instant that has passed is now, and one with an offset is that instant', async () => {
  await open.startWorker(inTurn(done, done).execute);
  await open.sweeper().start();
  const past = call({ run_at: '2001-01-01T00:00:00Z' });
  await open.client.submit(past);
  await ended(past);
  const record = await open.recordOf(past);
  expect(record?.begin?.at).toBe(record?.acceptedAt);
  const at = Math.floor((await now()) / 1000) * 1000 + 3_600_000;
  const local = new Date(at + 2 * 3_600_000).toISOString().replace('Z', '+02:00');
  const given = call({ run_at: local });
  await open.client.submit(given);
  expect((await open.recordOf(given))?.begin?.at).toBe(at);
});

test('both a delay and an instant, or an instant in ten years, are refused', async () => {
  const soon = new Date(Date.now() + 1_000).toISOString();
  const both = open.client.submit(call({ delay_ms: 1, run_at: soon }));
  await expect(both).rejects.toMatchObject({
    problem: {
      code: 'invalid_body',
      detail: expect.stringMatching(/^run_at: /),
      errors: [{ path: 'run_at' }],
    },
  });
  const far = new Date(Date.now() + 10 * YEAR_MS).toISOString();
  await expect(open.client.submit(call({ run_at: far }))).rejects.toMatchObject({
    problem: { code: 'invalid_body', errors: [{ path: 'run_at' }] },
  });
});

describe('a directive that is to begin by an instant', () => {
  test('ends expired once when nobody has begun it, and nobody begins it after that', async () => {
    const given = toolCall({ start_by_ms: 1 } as never);
    await open.client.submit(given);
    await Promise.all([1, 2].map(() => open.sweeper().start()));
    const error = errorOf(await open.resultOf(given));
    expect(error).toMatchObject({
      type: 'expired',
      retryable: false,
      details: { start_by_ms: 1, attempts: 0 },
    });
    expect((await open.typesOf(given)).filter((type) => type === 'ai.tool.result')).toHaveLength(1);
    expect((await open.journal.claim(claimOf(given))).kind).toBe('ended');
  });

  test('is refused a claim from then on, and goes on when it has begun in time', async () => {
    const late = toolCall({ start_by_ms: 60_000 } as never);
    const inTime = toolCall({ start_by_ms: 60_000 } as never);
    await open.client.submit(late);
    await open.client.submit(inTime);
    const granted = await open.journal.claim(claimOf(inTime, 60_000));
    expect(granted.kind).toBe('granted');
    await letPass(late, 60_000);
    await letPass(inTime, 60_000);
    expect(await open.journal.claim(claimOf(late))).toMatchObject({ kind: 'expired', isTooLate: true });
    const signals = [] as never[];
    const ended = await open.journal.endUnclaimed(inTime.request_id, inTime.id, 'failed', signals, {
      onlyUnbegun: true,
    });
    expect(ended.kind).toBe('stale');
  });

  test('is carried out when a worker takes it in time', async () => {
    await open.startWorker(inTurn(done).execute);
    const given = call({ start_by_ms: 60_000 });
    await open.client.submit(given);
    await eventually(() => open.recordOf(given)).toMatchObject({ status: 'succeeded' });
  });
});
