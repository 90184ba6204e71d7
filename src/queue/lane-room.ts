// The free capacity of the workers of a lane, by which its gate releases. Never counts a worker that may be dead: a
// directive that is released for it only waits elsewhere.
import { recentByName } from '../store/catalog/recent.ts';
import { heardIn, placesOf, type PresentWorker, type Workers } from '../store/catalog/workers.ts';
import type { Lanes } from './lanes.ts';

/** As it was a second ago at the most, while it is asked for. */
export type LaneRoom = (lane: string) => Promise<number>;

/** Concurrency of a process that serves more lanes than it lists. */
const UNKNOWN_CONCURRENCY = 10;

export function createLaneRoom(workers: Pick<Workers, 'known'>, lanes: Pick<Lanes, 'load'>): LaneRoom {
  const room = recentByName(async (lane) => {
    const [present, { globalConcurrency }] = await Promise.all([workers.known.recheck(), lanes.load(lane)]);
    return roomOf(lane, present, globalConcurrency);
  });
  return (lane) => room(lane).current();
}

/** One more for each process, so that it has its next job when it ends one. */
function roomOf(lane: string, present: readonly PresentWorker[], globalConcurrency: number | null): number {
  const places = heardIn(lane, present).map((worker) => placesOf(lane, worker) ?? UNKNOWN_CONCURRENCY);
  const room = places.reduce((sum, each) => sum + each + 1, 0);
  return globalConcurrency === null ? room : Math.min(room, globalConcurrency + 1);
}
