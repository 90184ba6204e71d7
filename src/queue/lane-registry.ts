// The lanes with keys in Redis, and the removal of unused ones. Never removes a lane that a worker serves or that holds
// a job: workers report each minute what they serve.
import type { KeySpace } from '../store/keys.ts';
import { prepareScripts } from '../store/scripts.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';

/** A lane is noted as used this often at most by one process. */
const NOTE_EVERY_MS = 60_000;
/** A lane that is unused for this long is removed, and opened again at its next use. */
const LANE_IDLE_MS = 3_600_000;
/** Maximum number removed in one check, so that the sweeper does not wait for it. */
const MOST_REMOVED = 100;

/** Failed jobs of a lane that are removed in one check because they are too old. */
const MOST_EXPIRED = 200;

/** BullMQ's names of what holds jobs, and of the rest that it keeps once for each lane. */
const WITH_JOBS = ['wait', 'active', 'delayed', 'prioritized', 'paused', 'failed'];
const WITHOUT_JOBS = [
  'meta',
  'id',
  'events',
  'marker',
  'offers',
  'pc',
  'limiter',
  'stalled',
  'stalled-check',
  'completed',
  'repeat',
  'waiting-children',
];
export const LANE_KEYS: readonly string[] = [...WITH_JOBS, ...WITHOUT_JOBS];

/** The lane's keys share one cluster slot of their own. */
export function lanePrefix(prefix: string, lane: string): string {
  return `{${prefix}:${lane}}`;
}

export function createLaneRegistry(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);
  const usedAt = new Map<string, number>();
  const notedAt = new Map<string, number>();

  /** Returns at once; a note that is lost is written with the next use. */
  function note(lanes: readonly string[]): void {
    const at = performance.now();
    for (const lane of lanes) usedAt.set(lane, at);
    const due = lanes.filter((lane) => at - (notedAt.get(lane) ?? -Infinity) >= NOTE_EVERY_MS);
    if (due.length === 0) return;
    for (const lane of due) notedAt.set(lane, at);
    run('lane-note', [keys.lanes], due).catch(() => {
      for (const lane of due) notedAt.delete(lane);
    });
  }

  /** Whether others may have removed the lane since this process used it. */
  function mayBeGone(lane: string): boolean {
    return performance.now() - (usedAt.get(lane) ?? -Infinity) > LANE_IDLE_MS / 2;
  }

  /** Removes lanes that were not used for `idleMs` and that hold no job, not even a failed one. */
  async function forgetIdle(idleMs: number = LANE_IDLE_MS): Promise<void> {
    for (const lane of await run('lane-idle', [keys.lanes], [idleMs, MOST_REMOVED])) {
      const name = String(lane);
      const key = (part: string): string => `${lanePrefix(keys.prefix, name)}:${name}:${part}`;
      const [kind] = await run('lane-remove', [...LANE_KEYS.map(key), key('')], [MOST_EXPIRED]);
      if (kind === 'removed') await run('lane-forget', [keys.lanes], [name, idleMs]);
      // It is looked at again after as long, and does not stand before the others.
      else await run('lane-note', [keys.lanes], [name]);
    }
  }

  return { note, mayBeGone, forgetIdle };
}
