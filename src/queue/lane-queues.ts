// BullMQ's queues of the lanes that this process uses, opened as they are needed.
// Must never use a queue whose keys others may have removed.
import { Queue } from 'bullmq';
import type { KeySpace } from '../store/keys.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { createLaneRegistry, lanePrefix } from './lane-registry.ts';
import { isKnown, laneScriptsOn } from './lane-scripts.ts';

/** BullMQ's own events have no subscriber, so their stream is kept short. */
const EVENT_STREAM_ENTRIES = 100;

export type LaneQueues = ReturnType<typeof createLaneQueues>;

export function createLaneQueues(connection: RedisConnection, keys: KeySpace) {
  const queues = new Map<string, Queue>();
  const registry = createLaneRegistry(connection, keys);
  const scripts = laneScriptsOn(connection, keys.prefix);

  function queue(lane: string): Queue {
    const known = queues.get(lane);
    const isUsable = known !== undefined && !registry.mayBeGone(lane);
    // Before the lane has a key.
    registry.note([lane]);
    if (isUsable) return known;
    // Opening it writes what others may have removed.
    known?.close().catch(() => {});
    const opened = openQueue(lane);
    opened.on('error', () => {});
    queues.set(lane, opened);
    return opened;
  }

  function openQueue(lane: string): Queue {
    // Nobody waits for it: until it is done, BullMQ's own scripts are used.
    void scripts.check();
    const options = {
      connection,
      prefix: lanePrefix(keys.prefix, lane),
      streams: { events: { maxLen: EVENT_STREAM_ENTRIES } },
      skipWaitingForReady: true,
      // BullMQ asks once for the version, and a queue whose question got no answer refuses everything ever after.
      skipVersionCheck: true,
    };
    return new Queue(lane, options, scripts.backend);
  }

  /** The base of the lane's keys, for a script that adds its jobs; null: BullMQ's own scripts do. */
  function scriptedBase(lane: string): string | null {
    const opened = queue(lane);
    return scripts.fit() ? opened.toKey('') : null;
  }

  /** As `scriptedBase`, for a script that needs no keys but the lane's: a cluster runs it too. */
  function failingBase(lane: string): string | null {
    const opened = queue(lane);
    const isUsed = connection.isCluster ? isKnown(opened.getBackend()) : scripts.fit();
    return isUsed ? opened.toKey('') : null;
  }

  async function close(): Promise<void> {
    await scripts.settled();
    await Promise.allSettled([...queues.values()].map((opened) => opened.close()));
    queues.clear();
  }

  return { queue, scriptedBase, failingBase, close, note: registry.note, forgetIdle: registry.forgetIdle };
}
