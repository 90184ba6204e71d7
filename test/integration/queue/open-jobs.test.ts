/** Jobs of directives that may have ended meanwhile, by our script and by BullMQ's own, on a real Redis.
 *  It must never need a worker, nor a sweeper. */
import type { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { createLaneQueues } from '../../../src/queue/lane-queues.ts';
import { jobId } from '../../../src/queue/job.ts';
import { laneScriptsOn } from '../../../src/queue/lane-scripts.ts';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { acceptance, endOf, jobOf, LANE, toolCall } from '../../support/journal.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));

async function accepted(): Promise<ToolExec> {
  const call = toolCall();
  await open.journal.accept(call.request_id, [acceptance(call)]);
  return call;
}

async function ended(): Promise<ToolExec> {
  const call = await accepted();
  await open.journal.endUnclaimed(call.request_id, call.id, 'succeeded', [endOf(call)]);
  return call;
}

/** Ids of jobs, that which is taken next first. */
async function waiting(): Promise<(string | undefined)[]> {
  const queues = createLaneQueues(open.connection, open.keys);
  const jobs = await queues.queue(LANE).getJobs('waiting', 0, -1, true);
  await queues.close();
  return jobs.map(({ id }) => id);
}

const idOf = ({ request_id, id }: ToolExec): string => jobId(request_id, id);

describe.each(['our script', "BullMQ's scripts"])('by %s', (way) => {
  const lanes = async () => {
    const scripts = laneScriptsOn(open.connection, open.keys.prefix);
    if (way !== 'our script') vi.spyOn(scripts, 'check').mockResolvedValue(null);
    await scripts.check();
    expect(scripts.fit()).toBe(way === 'our script');
    return open.lanes;
  };

  test('what has ended gets no job', async () => {
    const { requeue, enqueueFirst, enqueueOpen } = await lanes();
    await requeue(LANE, jobOf(await ended()));
    await enqueueFirst(LANE, jobOf(await ended()));
    await enqueueOpen(LANE, [jobOf(await ended()), jobOf(await ended())]);
    expect(await waiting()).toEqual([]);
  });

  test('what is open gets one, before those that wait or behind them', async () => {
    const { enqueue, requeue, enqueueFirst, enqueueOpen } = await lanes();
    const calls = await Promise.all(Array.from({ length: 4 }, accepted));
    const [waits, first, again, last] = calls as [ToolExec, ToolExec, ToolExec, ToolExec];
    await enqueue(LANE, jobOf(waits));
    await enqueueFirst(LANE, jobOf(first));
    await requeue(LANE, jobOf(again));
    await enqueueOpen(LANE, [jobOf(last), jobOf(first)]);
    await requeue(LANE, jobOf(waits));
    expect(await waiting()).toEqual([again, first, waits, last].map(idOf));
  });

  test('what has ended and left something to do gets one', async () => {
    const call = await ended();
    await (await lanes()).requeue(LANE, jobOf(call), { evenEnded: true });
    expect(await waiting()).toEqual([idOf(call)]);
  });
});

/** How often Redis has walked through a list to take something out. */
async function walks(): Promise<number> {
  const stats = await (open.connection as Redis).info('commandstats');
  return Number(/^cmdstat_lrem:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
}

test('a job is removed, and where there is none no lane is walked through', async () => {
  const [call, other] = [await accepted(), await accepted()];
  for (const each of [call, other]) await open.lanes.enqueue(LANE, jobOf(each));
  await open.lanes.removeJob(LANE, call.request_id, call.id);
  expect(await waiting()).toEqual([idOf(other)]);
  const before = await walks();
  expect(before).toBeGreaterThan(0);
  await open.lanes.removeJob(LANE, call.request_id, call.id);
  expect([await walks(), await waiting()]).toEqual([before, [idOf(other)]]);
});
