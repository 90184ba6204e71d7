// Lists the lanes that are known, with how busy they are and which of them wait for a server that is away.
// Must never open a lane that nobody could submit to.
import type { LaneListing, ListedLane } from '../contract/lane-listing.ts';
import { modelLane } from '../contract/model-name.ts';
import { waitOf } from '../contract/waiting.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Lanes } from './lanes.ts';
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
  const [servers, models, blocked] = await Promise.all([
    parts.catalog.servers.current(),
    parts.catalog.models.current(),
    blockedLanes(parts.catalog),
  ]);
  const names = [
    ...[...servers.keys()].map(toolLane),
    ...[...models.providers.keys()].map(modelLane),
    ...parts.kinds.map(customLane),
    RUN_LANE,
  ];
  const waits = createLaneWaits(parts);
  const until = (name: string): number => blocked.get(name) ?? 0;
  return { lanes: await Promise.all(names.map((name) => listed(parts.lanes, waits, name, until(name)))) };
}

async function listed(lanes: Lanes, waits: LaneWaits, name: string, until: number): Promise<ListedLane> {
  const [{ globalConcurrency, ...counts }, wait] = await Promise.all([lanes.counts(name), waits.of(name)]);
  const blocked_until = until + PROBE_MS > Date.now() ? new Date(until).toISOString() : null;
  const why = wait === null ? {} : { waits: waitOf(name, wait.reason, wait.untilAt) };
  return { name, ...counts, concurrency: globalConcurrency, blocked_until, ...why };
}
