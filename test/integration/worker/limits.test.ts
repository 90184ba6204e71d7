/** Limits on a real Redis: full lanes, rates, servers that ask to slow down or are unreachable.
 *  It must never judge by how fast something is, only by what happens before what. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../src/contract/result.ts';
import { openPipeline, refusal } from '../../support/pipeline.ts';
import { LANE } from '../../support/journal.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const call = (id: string, request_id: string, fields: object = {}) =>
  ({ type: 'tool_exec', tool_name: 'test.echo', id, request_id, ...fields }) as const;

test('a server that asks to slow down stops the lane on every worker, and costs no attempt', async () => {
  const PAUSE_MS = 1_200;
  const ran: { id: string; at: number }[] = [];
  const execute = async ({ id }: { id: string }) => {
    const first = ran.length === 0;
    ran.push({ id, at: Date.now() });
    const limited = errorEnvelope('rate_limited', 'slow down', { retry_after_ms: PAUSE_MS });
    return { result: first ? errorResult(limited) : okResult(id) };
  };
  await open.startWorker(execute);
  await open.startWorker(execute);
  const request_id = randomUUID();
  await open.client.submit(call('a', request_id, { effect: 'read' }));
  await expect.poll(() => ran.length).toBe(1);
  await expect.poll(async () => (await open.client.directive(request_id, 'a'))?.status).toBe('waiting');
  const others = ['b', 'c', 'd'].map((id) => open.client.execute(call(id, request_id)));
  const results = await Promise.all([open.client.result(request_id, 'a'), ...others]);
  expect(results.map((signal) => signal?.data)).toMatchObject(
    ['a', 'b', 'c', 'd'].map((id) => ({ call_id: id, result: { ok: true } })),
  );
  const limitedAt = ran[0]?.at ?? 0;
  for (const { at } of ran.slice(1)) expect(at - limitedAt).toBeGreaterThanOrEqual(PAUSE_MS - 50);
  expect(await open.client.directive(request_id, 'a')).toMatchObject({ attempts: 1, failures: 0 });
  const types = (await open.log(request_id)).map(({ type }) => type);
  expect(types).not.toContain('directive.retry_scheduled');
});

test('a pause of a lane is not shortened by a later one', async () => {
  await open.lanes.pauseFor(LANE, 60_000);
  await open.lanes.pauseFor(LANE, 1_000);
  expect((await open.lanes.heldBack(LANE))?.forMs).toBeGreaterThan(30_000);
  expect(open.lanes.isPaused(LANE)).toBe(true);
});

test('a pause of a lane stays although a worker starts without a rate; an old rate goes', async () => {
  const isHonoured = async () =>
    (await open.connection.hexists(`{${open.prefix}:${LANE}}:${LANE}:meta`, 'max')) === 1;
  await open.lanes.setRate(LANE, { max: 1, per_ms: 1_000 });
  await open.lanes.setRate(LANE, null);
  expect(await isHonoured()).toBe(false);
  await open.lanes.pauseFor(LANE, 60_000);
  await open.startWorker(async ({ id }) => ({ result: okResult(id) }));
  expect(await isHonoured()).toBe(true);
});

test('a lane with an unreachable server waits instead of using up attempts, and continues by itself', async () => {
  let runs = 0;
  await open.startWorker(async ({ id }) => {
    runs += 1;
    if (runs > 5) return { result: okResult(id) };
    return { result: errorResult(errorEnvelope('network', 'out of reach')), unreached: true };
  });
  const ends: string[] = [];
  for (const id of ['a', 'b', 'c']) {
    const signal = await open.client.execute(call(id, randomUUID()));
    ends.push('result' in signal.data ? JSON.stringify((signal.data.result as { ok: boolean }).ok) : '');
  }
  // Two single failures are reported to their callers; from the third in a row on, the lane waits.
  expect(ends).toEqual(['false', 'false', 'true']);
});

test('a full lane refuses a whole batch and reports when to try again', async () => {
  const client = await open.submitter({ maxQueued: 3 });
  const request_id = randomUUID();
  await client.submit([call('a', request_id), call('b', request_id)]);
  const refused = await refusal(client.submit([call('c', request_id), call('d', request_id)]));
  expect(refused.code).toBe('lane_full');
  expect((await client.request(request_id))?.directives.map(({ id }) => id)).toEqual(['a', 'b']);
  await client.submit(call('c', request_id));
  await refusal(client.submit(call('d', request_id)));
  await open.startWorker(async ({ id }) => ({ result: okResult(id) }));
  await client.result(request_id, 'c');
  await expect
    .poll(() =>
      client.submit(call('d', request_id)).then(
        () => 'accepted',
        () => 'refused',
      ),
    )
    .toBe('accepted');
  await client.result(request_id, 'd');
});

test('a result over the limit is a marked preview in its signal, and whole at the place that the mark names', async () => {
  const text = 'x'.repeat(1_200_000);
  await open.startWorker(async ({ id }) => ({ result: okResult(id === 'large' ? { text } : 'small') }));
  const request_id = randomUUID();
  const signal = await open.client.execute(call('large', request_id));
  expect(signal.data).toMatchObject({
    result: {
      ok: true,
      payload: {
        truncated: true,
        bytes: 1_200_011,
        reference: `/v1/requests/${request_id}/directives/large/payload`,
      },
    },
    metadata: { result_truncated_bytes: 1_200_011 },
  });
  expect(JSON.stringify(signal).length).toBeLessThan(20_000);
  expect(await open.client.payload(request_id, 'large')).toEqual({ text });
  await open.client.execute(call('small', request_id));
  expect(await open.client.payload(request_id, 'small')).toBe('small');
  await expect(open.client.payload(request_id, 'none')).rejects.toMatchObject({
    problem: { code: 'not_found' },
  });
  expect(await open.keysWithoutExpiry()).toEqual([]);
});

test('a whole payload stays as long as its request is open, and no longer than it is kept', async () => {
  const { promise, resolve: endLong } = Promise.withResolvers<void>();
  await open.startWorker(async ({ id }) => {
    if (id === 'long') await promise;
    return { result: okResult('x'.repeat(1_200_000)) };
  });
  const request_id = randomUUID();
  const long = open.client.execute(call('long', request_id));
  await open.client.execute(call('large', request_id));
  const [, bodies] = open.keys.request(request_id);
  const all = await open.connection.keys(`${open.prefix}:{${request_id}}*`);
  expect(await Promise.all(all.map((key) => open.connection.pttl(key)))).toEqual(all.map(() => -1));
  endLong();
  await long;
  expect(await open.client.payload(request_id, 'large')).toHaveLength(1_200_000);
  expect(await open.connection.pttl(bodies)).toBeGreaterThan(0);
  expect(await open.keysWithoutExpiry()).toEqual([]);
});

test('a payload is kept for the current claim alone', async () => {
  const { payloads } = open;
  const request_id = randomUUID();
  const { directives } = await open.client.submit(call('a', request_id));
  const ref = { requestId: request_id, id: 'a' };
  const request = { ...ref, digest: directives[0]?.digest ?? '', token: 'one', leaseMs: 10_000 };
  expect(await open.journal.claim(request)).toMatchObject({ kind: 'granted', fence: 1 });
  await payloads.put({ ...ref, fence: 1 }, '"mine"');
  await payloads.put({ ...ref, fence: 0 }, '"of one that was taken over"');
  await payloads.put({ ...ref, id: 'unknown', fence: 1 }, '"of nobody"');
  expect([await payloads.get(request_id, 'a'), await payloads.get(request_id, 'unknown')]).toEqual([
    '"mine"',
    null,
  ]);
});

test('a lane with a rate starts no more than that in a period, over all workers', async () => {
  const PERIOD_MS = 600;
  const startedAt: number[] = [];
  const execute = async ({ id }: { id: string }) => {
    startedAt.push(Date.now());
    return { result: okResult(id) };
  };
  const rate = { max: 2, per_ms: PERIOD_MS };
  await open.startWorker(execute, { rate });
  await open.startWorker(execute, { rate });
  const request_id = randomUUID();
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => open.client.execute(call(id, request_id))));
  startedAt.sort((left, right) => left - right);
  // Two in each period: the third and the fifth begin in later periods.
  expect((startedAt[4] ?? 0) - (startedAt[0] ?? 0)).toBeGreaterThan(PERIOD_MS);
});
