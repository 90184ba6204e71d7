// How many directives the workers of a lane have room for, as the gate of the lane is told.
// Must never count a worker that may be dead: what is let out for it only waits elsewhere.
import { recent, type Recent } from '../catalog/recent.ts';
import { BEAT_MS, isServed, type PresentWorker, type Workers } from '../catalog/workers.ts';
import type { Lanes } from './lanes.ts';

/** As it was a second ago at the most, while it is asked for. */
export type LaneRoom = (lane: string) => Promise<number>;

const SILENT_MS = 3 * BEAT_MS;
/** Of a process that serves more lanes than it lists. */
const UNKNOWN_CONCURRENCY = 10;
/** Lanes whose last answer is kept. */
const MOST_KEPT = 1_000;

export function createLaneRoom(workers: Pick<Workers, 'known'>, lanes: Pick<Lanes, 'load'>): LaneRoom {
  const rooms = new Map<string, Recent<number>>();

  async function read(lane: string): Promise<number> {
    const [present, { globalConcurrency }] = await Promise.all([workers.known.recheck(), lanes.load(lane)]);
    return roomOf(lane, present, globalConcurrency);
  }

  return (lane) => {
    const known = rooms.get(lane) ?? recent(() => read(lane));
    rooms.set(lane, known);
    if (rooms.size > MOST_KEPT) rooms.delete(rooms.keys().next().value ?? '');
    return known.current();
  };
}

/** One more for each process, so that it has its next job when it ends one. */
function roomOf(lane: string, present: readonly PresentWorker[], globalConcurrency: number | null): number {
  const heard = present.filter((worker) => worker.silentMs <= SILENT_MS && isServed(lane, [worker]));
  const places = heard.map(
    ({ lanes }) => lanes?.find(({ name }) => name === lane)?.concurrency ?? UNKNOWN_CONCURRENCY,
  );
  const room = places.reduce((sum, each) => sum + each + 1, 0);
  return globalConcurrency === null ? room : Math.min(room, globalConcurrency + 1);
}
