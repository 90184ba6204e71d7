// The reason why the directives of a lane wait: no worker or no program serves it, its server is unreachable, it is limited, or it is
// full. A snapshot for waiting callers; never decides about a directive.
import type { Catalog } from '../store/catalog/catalog.ts';
import type { CatalogEntry } from '../store/catalog/tool-catalog.ts';
import { recent, recentByName } from '../store/catalog/recent.ts';
import type { RemotePrograms } from '../store/catalog/remote-programs.ts';
import { customTypeOf, toolLane } from '../store/catalog/route.ts';
import { heardIn, isServed, placesOf, type PresentWorker } from '../store/catalog/workers.ts';
import { modelLane } from '../contract/model/model-name.ts';
import type { WaitReason } from '../contract/request/waiting.ts';
import type { LaneLoad, Lanes } from './lanes.ts';
import type { HeldBack } from './lane-throttle.ts';

export interface LaneWait {
  reason: WaitReason;
  /** Milliseconds since the epoch; null: unknown. */
  untilAt: number | null;
  /** Further facts: the cause, the limit, the workers. */
  detail?: string;
}

/** The known facts of one lane. */
export interface LaneFacts {
  workers: readonly PresentWorker[];
  /** Default: its directives need no program beside the workers. */
  programs?: RemotePrograms | null | undefined;
  /** Default: its server is in reach, as far as known. */
  blocked?: BlockedLane | undefined;
  heldBack: HeldBack | null;
  load: LaneLoad;
}

/** A lane whose server is out of reach. */
export interface BlockedLane {
  /** Until when it is left alone, milliseconds since the epoch; 0 = it is in reach. */
  untilAt: number;
  /** Why it is not reached; absent: unknown. */
  cause?: string | undefined;
  down?: CatalogEntry['down'];
}

/** After a pause a lane's server is tried for about this long before the lane waits again or goes on. */
export const PROBE_MS = 60_000;

/** null: its directives are taken as they come. */
export function laneWait(
  lane: string,
  { workers, programs, blocked, heldBack, load }: LaneFacts,
  now: number,
): LaneWait | null {
  if (!isServed(lane, workers)) return { reason: 'no_worker', untilAt: null, ...drainedOf(lane, workers) };
  if (programs && !programs.isServed && programs.waiting > 0)
    return { reason: 'no_program', untilAt: null, detail: lastAskedText(programs) };
  if (blocked && blocked.untilAt + PROBE_MS > now) return serverDown(blocked, now);
  if (heldBack)
    return heldBack.byRate
      ? { reason: 'limit_reached', untilAt: null, ...rateOf(heldBack) }
      : { reason: 'rate_limited', untilAt: now + heldBack.forMs };
  return isFull(lane, workers, load) ? { reason: 'concurrency', untilAt: null } : null;
}

/**
 * Whether the lane is full: as many jobs run as a limit over all workers allows, or as the present workers run at once.
 * Jobs of a silent worker do not count.
 */
function isFull(
  lane: string,
  workers: readonly PresentWorker[],
  { waiting, active, globalConcurrency }: LaneLoad,
): boolean {
  if (waiting === 0 || active === 0) return false;
  const heard = heardIn(lane, workers);
  if (heard.length === 0) return false;
  if (globalConcurrency !== null && active >= globalConcurrency) return true;
  // A worker that serves too much to list it is taken to be full.
  return active >= heard.reduce((sum, worker) => sum + (placesOf(lane, worker) ?? 0), 0);
}

function serverDown({ untilAt, cause, down }: BlockedLane, now: number): LaneWait {
  const tried = down
    ? ` (tried ${down.tries === 1 ? 'once' : `${down.tries} times`} in ${lastedText(now - down.sinceAt)})`
    : '';
  const detail = cause === undefined ? {} : { detail: `${cause}${tried}` };
  return { reason: 'server_down', untilAt: untilAt > now ? untilAt : null, ...detail };
}

function lastedText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
}

function lastAskedText({ askedAt }: RemotePrograms): string {
  return askedAt === null
    ? 'none has asked for work in the last day'
    : `the last one asked for work at ${new Date(askedAt).toISOString()}`;
}

/** Workers that could serve the lane, and were told not to. */
function drainedOf(lane: string, workers: readonly PresentWorker[]): { detail?: string } {
  const drained = workers.filter(
    ({ state, lanes }) => state === 'draining' && (lanes === null || lanes.some(({ name }) => name === lane)),
  ).length;
  if (drained === 0) return {};
  return {
    detail: drained === 1 ? 'the one that could is drained' : `all ${drained} that could are drained`,
  };
}

function rateOf({ rate }: HeldBack): { detail?: string } {
  return rate ? { detail: `its rate, ${rate.max} per ${rate.per_ms / 1_000} s` } : {};
}

export type LaneWaits = ReturnType<typeof createLaneWaits>;

export interface LaneWaitParts {
  catalog: Pick<Catalog, 'published' | 'workers' | 'programs'>;
  lanes: Pick<Lanes, 'load' | 'heldBack'>;
}

/** Callers within a tenth of a second share the answer. */
export function createLaneWaits({ catalog, lanes }: LaneWaitParts) {
  const blocked = recent(() => blockedLanes(catalog));
  const looks = recentByName(async (lane: string): Promise<LaneWait | null> => {
    const type = customTypeOf(lane);
    const [workers, programs, until, heldBack, load] = await Promise.all([
      catalog.workers.known.recheck(),
      type === null ? null : catalog.programs(type),
      blocked.recheck(),
      lanes.heldBack(lane),
      lanes.load(lane),
    ]);
    return laneWait(lane, { workers, programs, blocked: until.get(lane), heldBack, load }, Date.now());
  });

  return { of: (lane: string): Promise<LaneWait | null> => looks(lane).recheck() };
}

/** The blocked lanes by name. */
export async function blockedLanes({
  published,
}: Pick<Catalog, 'published'>): Promise<Map<string, BlockedLane>> {
  const [entries, { blockedUntil }] = await Promise.all([published.tools.read(), published.models.read()]);
  return new Map([
    ...entries.map(
      ({ server, blockedUntil: untilAt = 0, error: cause, down }) =>
        [toolLane(server), { untilAt, cause, down }] as const,
    ),
    ...[...blockedUntil].map(([provider, untilAt]) => [modelLane(provider), { untilAt }] as const),
  ]);
}
