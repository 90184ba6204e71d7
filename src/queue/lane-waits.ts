// Why the directives of a lane do not go on: nobody serves it, its server is away, it is limited, or it is full.
// Must never be used to decide about a directive: it is a look of a moment, for those who wait.
import type { Catalog } from '../catalog/catalog.ts';
import { recent, type Recent } from '../catalog/recent.ts';
import { toolLane } from '../catalog/route.ts';
import { isServed, type PresentWorker } from '../catalog/workers.ts';
import { modelLane } from '../contract/model-name.ts';
import type { WaitReason } from '../contract/waiting.ts';
import type { LaneLoad, Lanes } from './lanes.ts';
import type { HeldBack } from './lane-throttle.ts';

export interface LaneWait {
  reason: WaitReason;
  /** Milliseconds since the epoch; null: nobody knows. */
  untilAt: number | null;
}

/** What is known of one lane. */
export interface LaneFacts {
  workers: readonly PresentWorker[];
  /** Until when its server is left alone, milliseconds since the epoch; 0 = it is in reach, as far as known. */
  blockedUntil: number;
  heldBack: HeldBack | null;
  load: LaneLoad;
}

/** After a pause a lane's server is tried for about this long before the lane waits again or goes on. */
export const PROBE_MS = 60_000;
/** Lanes whose last answer is kept. */
const MOST_KEPT = 1_000;

/** null: its directives are taken as they come. */
export function laneWait(
  lane: string,
  { workers, blockedUntil, heldBack, load }: LaneFacts,
  now: number,
): LaneWait | null {
  if (!isServed(lane, workers)) return { reason: 'no_worker', untilAt: null };
  if (blockedUntil + PROBE_MS > now)
    return { reason: 'server_down', untilAt: blockedUntil > now ? blockedUntil : null };
  if (heldBack)
    return heldBack.byRate
      ? { reason: 'limit_reached', untilAt: null }
      : { reason: 'rate_limited', untilAt: now + heldBack.forMs };
  return load.waiting > 0 && load.active > 0 ? { reason: 'concurrency', untilAt: null } : null;
}

export type LaneWaits = ReturnType<typeof createLaneWaits>;

export interface LaneWaitParts {
  catalog: Pick<Catalog, 'published' | 'workers'>;
  lanes: Pick<Lanes, 'load' | 'heldBack'>;
}

/** Whoever asks within a tenth of a second shares the answer. */
export function createLaneWaits({ catalog, lanes }: LaneWaitParts) {
  const blocked = recent(() => blockedLanes(catalog));
  const kept = new Map<string, Recent<LaneWait | null>>();

  async function look(lane: string): Promise<LaneWait | null> {
    const [workers, until, heldBack, load] = await Promise.all([
      catalog.workers.known.recheck(),
      blocked.recheck(),
      lanes.heldBack(lane),
      lanes.load(lane),
    ]);
    return laneWait(lane, { workers, blockedUntil: until.get(lane) ?? 0, heldBack, load }, Date.now());
  }

  return {
    of(lane: string): Promise<LaneWait | null> {
      const known = kept.get(lane) ?? recent(() => look(lane));
      kept.set(lane, known);
      if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value ?? '');
      return known.recheck();
    },
  };
}

/** Lane → until when its server is left alone, milliseconds since the epoch. */
export async function blockedLanes({ published }: Pick<Catalog, 'published'>): Promise<Map<string, number>> {
  const [entries, { blockedUntil }] = await Promise.all([published.tools.read(), published.models.read()]);
  return new Map([
    ...entries.map(({ server, blockedUntil: until = 0 }) => [toolLane(server), until] as const),
    ...[...blockedUntil].map(([provider, until]) => [modelLane(provider), until] as const),
  ]);
}
