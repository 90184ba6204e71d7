/** Directives that a worker takes without a job: from the engine of its own process.
 *  It must never enqueue them itself: what is not taken, or was taken by a dead worker, the sweeper must find. */
import { expect, test } from 'vitest';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../src/contract/result.ts';
import { contentDigest } from '../../../src/journal/content-digest.ts';
import { acceptance, toolCall, LANE } from '../../support/journal.ts';
import { openPipeline, type Pipeline } from '../../support/pipeline.ts';
import { gate } from '../../support/executors.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();

/** The state after a turn: announced to the sweeper and accepted, without a job. */
async function accepted(open: Pipeline, fields: Parameters<typeof toolCall>[0] = {}) {
  const call = toolCall({ effect: 'read', ...fields });
  await open.index.add([{ requestId: call.request_id, id: call.id }], Date.now() + 100);
  await open.journal.accept(call.request_id, [acceptance(call, LANE)]);
  return { call, job: { request_id: call.request_id, id: call.id, digest: contentDigest(call) } };
}

test('what is taken runs and ends without a job', async () => {
  await using open = await openPipeline(redis.url);
  const worker = await open.startWorker(async ({ id }) => ({ result: okResult(id) }));
  const { call, job } = await accepted(open);
  expect(worker.take(LANE, job)).toBe(true);
  const ended = await open.client.result(call.request_id, call.id);
  expect(ended?.data).toMatchObject({ result: { ok: true, payload: call.id } });
  expect(await open.jobs()).toBe(0);
});

test('a full lane takes nothing more, and a job waits until a slot is free', async () => {
  await using open = await openPipeline(redis.url);
  const held = gate();
  let running = 0;
  let most = 0;
  const worker = await open.startWorker(
    async () => {
      most = Math.max(most, (running += 1));
      await held.passed;
      running -= 1;
      return { result: okResult(null) };
    },
    { concurrency: 2 },
  );
  const calls = await Promise.all([accepted(open), accepted(open), accepted(open)]);
  expect(calls.map(({ job }) => worker.take(LANE, job))).toEqual([true, true, false]);
  expect(worker.canTake(LANE)).toBe(false);
  await open.lanes.enqueue(LANE, calls[2].job);
  await expect.poll(async () => (await open.lanes.counts(LANE)).active).toBe(1);
  held.open();
  for (const { call } of calls)
    expect((await open.client.result(call.request_id, call.id))?.data).toMatchObject({
      result: { ok: true },
    });
  expect(most).toBe(2);
});

test.each([
  ['limited over all workers', { serial: true }],
  ['limited in its rate', { rate: { max: 100, per_ms: 1_000 } }],
  ['of another worker', { lanes: ['tool.other'] }],
])('a lane that is %s takes nothing', async (_what, options) => {
  await using open = await openPipeline(redis.url);
  const worker = await open.startWorker(async () => ({ result: okResult(null) }), options);
  const { job } = await accepted(open);
  expect(worker.canTake(LANE)).toBe(false);
  expect(worker.take(LANE, job)).toBe(false);
});

test('nothing is taken while the lane is paused, nor once the worker stops', async () => {
  await using open = await openPipeline(redis.url);
  const worker = await open.startWorker(async () => ({ result: okResult(null) }));
  worker.pauseLane(LANE, 60_000);
  expect(worker.canTake(LANE)).toBe(false);
  worker.pauseLane(LANE, null);
  expect(worker.canTake(LANE)).toBe(true);
  await open.lanes.pauseFor(LANE, 60_000);
  expect(worker.canTake(LANE)).toBe(false);
  await worker.stop();
  expect(worker.canTake(LANE)).toBe(false);
});

test('a failure that is retried comes back as a job', async () => {
  await using open = await openPipeline(redis.url);
  let attempts = 0;
  const worker = await open.startWorker(async ({ id }) => {
    attempts += 1;
    if (attempts === 1) return { result: errorResult(errorEnvelope('network', 'lost')) };
    return { result: okResult(id) };
  });
  const { call, job } = await accepted(open, { max_retries: 1, retry_backoff_ms: 300 });
  worker.take(LANE, job);
  const ended = await open.client.result(call.request_id, call.id);
  expect(ended?.data).toMatchObject({ result: { ok: true }, metadata: { attempts: 2 } });
});

test('when its worker dies, the sweeper notices by the end of the lease', async () => {
  await using open = await openPipeline(redis.url);
  const { call, job } = await accepted(open);
  // A worker that took it and was never seen again.
  const claim = { requestId: call.request_id, id: call.id, digest: job.digest, lane: LANE };
  await open.journal.claim({ ...claim, leaseMs: 1_000, token: 'gone' });
  await open.startWorker(async ({ id }) => ({ result: okResult(id) }));
  await open.sweeper().start();
  const ended = await open.client.result(call.request_id, call.id, { timeoutMs: 20_000 });
  expect(ended?.data).toMatchObject({ result: { ok: true }, metadata: { redeliveries: 1 } });
});
