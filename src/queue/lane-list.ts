// Lists the lanes that are known, with how busy they are and which of them wait for a server that is away.
// Must never open a lane that nobody could submit to.
import type { LaneListing, ListedLane } from '../contract/lane-listing.ts';
import { modelLane } from '../contract/model-name.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Lanes } from './lanes.ts';
import { customLane, toolLane } from '../catalog/route.ts';
import { RUN_LANE } from './run-wake.ts';

export interface LaneListParts {
  catalog: Pick<Catalog, 'servers' | 'models' | 'published'>;
  lanes: Lanes;
  /** Users' own kinds that have a lane. */
  kinds: readonly string[];
}

/** After a pause a lane's server is tried for about this long before the lane waits again or goes on. */
const PROBE_MS = 60_000;

export async function listLanes(parts: LaneListParts): Promise<LaneListing> {
  const [servers, models, blocked] = await Promise.all([
    parts.catalog.servers.current(),
    parts.catalog.models.current(),
    blockedLanes(parts),
  ]);
  const names = [
    ...[...servers.keys()].map(toolLane),
    ...[...models.providers.keys()].map(modelLane),
    ...parts.kinds.map(customLane),
    RUN_LANE,
  ];
  return { lanes: await Promise.all(names.map((name) => listed(parts.lanes, name, blocked.get(name) ?? 0))) };
}

/** Lane → until when it waits, milliseconds since the epoch. */
async function blockedLanes({ catalog: { published } }: LaneListParts): Promise<Map<string, number>> {
  const [entries, { blockedUntil }] = await Promise.all([published.tools.read(), published.models.read()]);
  return new Map([
    ...entries.map(({ server, blockedUntil: until = 0 }) => [toolLane(server), until] as const),
    ...[...blockedUntil].map(([provider, until]) => [modelLane(provider), until] as const),
  ]);
}

async function listed(lanes: Lanes, name: string, until: number): Promise<ListedLane> {
  const { globalConcurrency, ...counts } = await lanes.counts(name);
  const blocked_until = until + PROBE_MS > Date.now() ? new Date(until).toISOString() : null;
  return { name, ...counts, concurrency: globalConcurrency, blocked_until };
}
