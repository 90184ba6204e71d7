/** Directives that a worker takes without a job: from the engine of its own process.
 *  It must never enqueue them itself: what is not taken, or was taken by a dead worker, the sweeper must find. */
import { expect, test } from 'vitest';
import type { ToolExec } from '../../../src/contract/work-directive.ts';
import { done, type Execute, fails, inTurn, untilResumed } from '../../support/executors.ts';
import { jobOf, LANE } from '../../support/journal.ts';
import { calls, openPipeline } from '../../support/pipeline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

/** The state after a turn: due for a check by the sweeper soon, without a job. */
async function accepted(fields: Parameters<typeof open.accepted>[0] = {}) {
  const call = await open.accepted({ effect: 'read', ...fields }, Date.now() + 100);
  return { call, job: jobOf(call) };
}

test('what is taken runs and ends without a job', async () => {
  const worker = await open.startWorker(async () => done);
  const { call, job } = await accepted();
  expect(worker.take(LANE, job)).toBe(true);
  const ended = await open.resultOf(call);
  expect(ended?.data).toMatchObject({ result: { ok: true, payload: 'done' } });
  expect(await open.jobs()).toBe(0);
});

test('a full lane takes nothing more, and a job waits until a slot is free', async () => {
  const { execute, resume } = untilResumed();
  let [running, most] = [0, 0];
  const counted: Execute = async (...given) => {
    most = Math.max(most, (running += 1));
    const answer = await execute(...given);
    running -= 1;
    return answer;
  };
  const worker = await open.startWorker(counted, { concurrency: 2 });
  const calls = await Promise.all([accepted(), accepted(), accepted()]);
  expect(calls.map(({ job }) => worker.take(LANE, job))).toEqual([true, true, false]);
  expect(worker.canTake(LANE)).toBe(false);
  await open.lanes.enqueue(LANE, calls[2].job);
  await expect.poll(async () => (await open.lanes.counts(LANE)).active).toBe(1);
  resume();
  for (const { call } of calls)
    expect((await open.resultOf(call))?.data).toMatchObject({ result: { ok: true } });
  expect(most).toBe(2);
});

test('a job that waits for a slot comes before those that are taken after it', async () => {
  const [long, first] = [untilResumed(), untilResumed()];
  const ran: string[] = [];
  const execute: Execute = async (directive, context) => {
    const position = ran.push(directive.id);
    const held = [long, first][position - 1];
    return held ? held.execute(directive, context) : done;
  };
  const worker = await open.startWorker(execute, { concurrency: 2 });
  const { call, job } = await accepted();
  expect(worker.take(LANE, job)).toBe(true);
  await long.started;
  const jobs = calls(4);
  await open.client.submit(jobs[0] as ToolExec);
  await first.started;
  await open.client.submit(jobs[1] as ToolExec);
  await expect.poll(async () => (await open.lanes.counts(LANE)).active).toBe(2);
  for (const later of jobs.slice(2)) await open.client.submit(later);
  first.resume();
  for (const each of jobs) await open.resultOf(each);
  expect(ran).toEqual([call, ...jobs].map(({ id }) => id));
  long.resume();
  await open.resultOf(call);
});

test.each([
  ['limited over all workers', { serial: true }],
  ['limited in its rate', { rate: { max: 100, per_ms: 1_000 } }],
  ['of another worker', { lanes: ['tool.other'] }],
])('a lane that is %s takes nothing', async (_what, options) => {
  const worker = await open.startWorker(async () => done, options);
  const { job } = await accepted();
  expect(worker.canTake(LANE)).toBe(false);
  expect(worker.take(LANE, job)).toBe(false);
});

test('nothing is taken while the lane is paused, nor once the worker stops', async () => {
  const worker = await open.startWorker(async () => done);
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
  const worker = await open.startWorker(inTurn(fails('network'), done).execute);
  const { call, job } = await accepted({ max_retries: 1, retry_backoff_ms: 300 });
  worker.take(LANE, job);
  const ended = await open.resultOf(call);
  expect(ended?.data).toMatchObject({ result: { ok: true }, metadata: { attempts: 2 } });
});

test('when its worker dies, the sweeper notices by the end of the lease', async () => {
  const { call, job } = await accepted();
  // A worker that took it and was never seen again.
  const claim = { requestId: call.request_id, id: call.id, digest: job.digest, lane: LANE };
  await open.journal.claim({ ...claim, leaseMs: 1_000, token: 'gone' });
  await open.startWorker(async () => done);
  await open.sweeper().start();
  const ended = await open.client.result(call.request_id, call.id, { timeoutMs: 20_000 });
  expect(ended?.data).toMatchObject({ result: { ok: true }, metadata: { redeliveries: 1 } });
});
