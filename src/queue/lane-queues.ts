// BullMQ's queues of the lanes that this process uses, opened as they are needed.
// Must never use a queue whose keys others may have removed.
import { Queue } from 'bullmq';
import type { KeySpace } from '../journal/keys.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { createLaneRegistry, lanePrefix } from './lane-registry.ts';

/** Nobody listens to BullMQ's own events, so their stream is kept short. */
const EVENT_STREAM_ENTRIES = 100;

export function createLaneQueues(connection: RedisConnection, keys: KeySpace) {
  const queues = new Map<string, Queue>();
  const registry = createLaneRegistry(connection, keys);

  function queue(lane: string): Queue {
    const known = queues.get(lane);
    const isUsable = known !== undefined && !registry.mayBeGone(lane);
    // Before the lane has a key.
    registry.note([lane]);
    if (isUsable) return known;
    // Opening it writes what others may have removed.
    known?.close().catch(() => {});
    const opened = new Queue(lane, {
      connection,
      prefix: lanePrefix(keys.prefix, lane),
      streams: { events: { maxLen: EVENT_STREAM_ENTRIES } },
      skipWaitingForReady: true,
      // BullMQ asks once for the version, and a queue whose question got no answer refuses everything ever after.
      skipVersionCheck: true,
    });
    opened.on('error', () => {});
    queues.set(lane, opened);
    return opened;
  }

  async function close(): Promise<void> {
    await Promise.allSettled([...queues.values()].map((opened) => opened.close()));
    queues.clear();
  }

  return { queue, close, note: registry.note, forgetIdle: registry.forgetIdle };
}
