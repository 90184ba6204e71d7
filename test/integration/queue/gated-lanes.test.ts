/** The way through the gate of a lane on a real Redis: in which order its jobs are taken.
 *  It must never need a worker. */
import { expect, test } from 'vitest';
import { createGate } from '../../../src/store/limits/gate.ts';
import { createGateNews } from '../../../src/queue/gate-news.ts';
import { createGatedLanes } from '../../../src/queue/gated-lanes.ts';
import { jobId } from '../../../src/queue/job.ts';
import { createLaneQueues } from '../../../src/queue/lane-queues.ts';
import { jobOf, LANE } from '../../support/journal.ts';
import { openStore } from '../../support/store.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));
/** A worker with two places, and one more so that it has its next job when it ends one. */
const ROOM = 3;

test('a single call is taken before what was let out for later, whatever another has waiting', async () => {
  const { connection, keys, lanes } = open;
  const roomIn = async (): Promise<number> => ROOM;
  const gated = createGatedLanes({
    gate: createGate(connection, keys),
    lanes,
    journal: open.journal,
    roomIn,
    news: createGateNews(),
  });
  const enter = async (id: string, turn: string): Promise<boolean> => {
    const ticket = { turn, priority: 4, weight: 1, limits: [] };
    const call = await open.accepted({ request_id: 'r', id });
    return gated.enter(LANE, jobOf(call), { ticket });
  };
  for (let n = 0; n < 20; n += 1) await enter(`f${n}`, 'flood');
  expect(await enter('single', 'single')).toBe(true);
  expect(await enter('other', 'other')).toBe(false);
  const queues = createLaneQueues(connection, keys);
  const waiting = await queues.queue(LANE).getWaiting();
  await queues.close();
  expect(waiting.map(({ id }) => id)).toEqual(['single', 'f0', 'f1', 'f2'].map((id) => jobId('r', id)));
});
