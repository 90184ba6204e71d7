// Lists the lanes that are known, with how busy they are and which of them wait for a server that is away.
// Must never open a lane that nobody could submit to.
import type { LaneListing, ListedLane } from '../contract/lane-listing.ts';
import { modelLane } from '../contract/model-name.ts';
import { waitOf } from '../contract/waiting.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Lanes } from './lanes.ts';
import { BEAT_MS, type PresentWorker } from '../catalog/workers.ts';
import { customLane, toolLane } from '../catalog/route.ts';
import { blockedLanes, createLaneWaits, type LaneWaits, PROBE_MS } from './lane-waits.ts';
import { RUN_LANE } from './run-wake.ts';

export interface LaneListParts {
  catalog: Pick<Catalog, 'servers' | 'models' | 'published' | 'workers'>;
  lanes: Lanes;
  /** Users' own kinds that have a lane. */
  kinds: readonly string[];
}

export async function listLanes(parts: LaneListParts): Promise<LaneListing> {
  const [servers, models, blocked, workers] = await Promise.all([
    parts.catalog.servers.current(),
    parts.catalog.models.current(),
    blockedLanes(parts.catalog),
    parts.catalog.workers.known.recheck(),
  ]);
  const names = [
    ...[...servers.keys()].map(toolLane),
    ...[...models.providers.keys()].map(modelLane),
    ...parts.kinds.map(customLane),
    RUN_LANE,
  ];
  const waits = createLaneWaits(parts);
  const look = (name: string): Promise<ListedLane> =>
    listed(parts.lanes, waits, {
      name,
      until: blocked.get(name)?.untilAt ?? 0,
      running: runningIn(name, workers),
    });
  return { lanes: await Promise.all(names.map(look)) };
}

/** A worker that misses so many beats has died, or stands still: what it ran may run elsewhere. */
const SILENT_MS = 3 * BEAT_MS;

/** As the workers last said: what an engine gives to the worker of its own process has no job. */
function runningIn(lane: string, workers: readonly PresentWorker[]): number {
  const heard = workers.filter(({ silentMs }) => silentMs < SILENT_MS);
  const served = heard.flatMap(({ lanes }) => lanes?.filter(({ name }) => name === lane) ?? []);
  return served.reduce((sum, { running }) => sum + running, 0);
}

interface LookedAt {
  name: string;
  /** Milliseconds since the epoch; 0 = its server is in reach. */
  until: number;
  running: number;
}

async function listed(
  lanes: Lanes,
  waits: LaneWaits,
  { name, until, running }: LookedAt,
): Promise<ListedLane> {
  const [{ globalConcurrency, ...counts }, wait] = await Promise.all([lanes.counts(name), waits.of(name)]);
  const active = Math.max(counts.active, running);
  const blocked_until = until + PROBE_MS > Date.now() ? new Date(until).toISOString() : null;
  const why = wait === null ? {} : { waits: waitOf(name, wait) };
  return { name, ...counts, active, concurrency: globalConcurrency, blocked_until, ...why };
}
