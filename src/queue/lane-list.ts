// Lists the known lanes with their load, and those that wait for an unreachable server. Never opens a lane that no
// submission could use.
import { DEFAULT_TENANT } from '../contract/access/tenant.ts';
import type { LaneListing, ListedLane } from '../contract/request/lane-listing.ts';
import { modelLane } from '../contract/model/model-name.ts';
import { waitOf } from '../contract/request/waiting.ts';
import type { Catalog } from '../store/catalog/catalog.ts';
import type { LaterIndex } from '../store/index/later-index.ts';
import type { GateLooks } from './gate-waits.ts';
import type { Lanes } from './lanes.ts';
import { heardIn, type PresentWorker, SILENT_MS } from '../store/catalog/workers.ts';
import { customLane, customTypeOf, isLaneSeen, isWebhookLane, toolLane } from '../store/catalog/route.ts';
import { blockedLanes, createLaneWaits, type LaneWaits, PROBE_MS } from './lane-waits.ts';
import { RUN_LANE } from './run-wake.ts';

export interface LaneListParts {
  catalog: Pick<Catalog, 'servers' | 'models' | 'published' | 'workers' | 'programs'>;
  lanes: Lanes;
  /** Directives that begin later in each lane. Default: none. */
  later?: Pick<LaterIndex, 'counts'> | undefined;
  /** Default: nothing waits in a gate. */
  gates?: Pick<GateLooks, 'counts'> | undefined;
  /** Users' own kinds that have a lane. */
  kinds: readonly string[];
  /** The tenant that sees the list: `default` sees the lanes of servers of all tenants, and those of deliveries while something is in them. */
  tenant: string;
}

export async function listLanes(parts: LaneListParts): Promise<LaneListing> {
  const [servers, models, blocked, workers, later] = await Promise.all([
    parts.catalog.servers.current(),
    parts.catalog.models.current(),
    blockedLanes(parts.catalog),
    parts.catalog.workers.known.recheck(),
    parts.later?.counts(),
  ]);
  const names = [
    ...[...servers.keys()].map(toolLane).filter((lane) => isLaneSeen(lane, parts.tenant)),
    ...[...models.providers.keys()].map(modelLane),
    ...parts.kinds.map(customLane),
    RUN_LANE,
  ];
  const waits = createLaneWaits(parts);
  const look = (name: string): Promise<ListedLane> =>
    listed(parts, waits, {
      name,
      until: blocked.get(name)?.untilAt ?? 0,
      serving: heardIn(name, workers).length,
      workers: workersOf(name, workers),
      later: later?.get(name) ?? 0,
    });
  const deliveries = parts.tenant === DEFAULT_TENANT ? webhookLanesOf(workers) : [];
  const [all, delivering] = await Promise.all(
    [names, deliveries].map(async (each) => Promise.all(each.map(look))),
  );
  return { lanes: [...(all ?? []), ...(delivering ?? []).filter(isInUse)] };
}

function webhookLanesOf(workers: readonly PresentWorker[]): string[] {
  const served = workers.flatMap(({ lanes }) => lanes?.map(({ name }) => name) ?? []);
  return [...new Set(served.filter(isWebhookLane))].toSorted();
}

function isInUse({ waiting, active, delayed, paused, later = 0, gated = 0 }: ListedLane): boolean {
  return paused || waiting + active + delayed + later + gated > 0;
}

type ServedLane = NonNullable<PresentWorker['lanes']>[number];

/** The lane as each worker that is heard last said of it. */
function workersOf(lane: string, workers: readonly PresentWorker[]): ServedLane[] {
  const heard = workers.filter(({ silentMs }) => silentMs < SILENT_MS);
  return heard.flatMap(({ lanes }) => lanes?.filter(({ name }) => name === lane) ?? []);
}

/** undefined: no worker counts its attempts. */
function recentOf(served: readonly ServedLane[]): ListedLane['recent'] {
  const counted = served.flatMap(({ recent }) => (recent === undefined ? [] : [recent]));
  if (counted.length === 0) return undefined;
  return {
    attempts: counted.reduce((sum, { attempts }) => sum + attempts, 0),
    failed: counted.reduce((sum, { failed }) => sum + failed, 0),
  };
}

const MODEL_LANES = modelLane('');

async function coolsUntil(lanes: Lanes, name: string): Promise<Pick<ListedLane, 'cools_until'>> {
  if (!name.startsWith(MODEL_LANES)) return {};
  const forMs = await lanes.coolsForMs(name.slice(MODEL_LANES.length));
  return forMs === 0 ? {} : { cools_until: new Date(Date.now() + forMs).toISOString() };
}

async function programsOf(
  { programs }: Pick<Catalog, 'programs'>,
  lane: string,
): Promise<Pick<ListedLane, 'programs'>> {
  const type = customTypeOf(lane);
  const found = type === null ? null : await programs(type);
  if (found === null) return {};
  const { askedAt, waiting } = found;
  return { programs: { asked_at: askedAt === null ? null : new Date(askedAt).toISOString(), waiting } };
}

interface LookedAt {
  name: string;
  /** Milliseconds since the epoch; 0 = its server is in reach. */
  until: number;
  /** Workers that take its jobs. */
  serving: number;
  workers: readonly ServedLane[];
  later: number;
}

async function listed(
  { catalog, lanes, gates }: Pick<LaneListParts, 'catalog' | 'lanes' | 'gates'>,
  waits: LaneWaits,
  { name, until, serving, workers, later }: LookedAt,
): Promise<ListedLane> {
  const [{ globalConcurrency, ...counts }, wait, oldestAt, cools, inGate, programs] = await Promise.all([
    lanes.counts(name),
    waits.of(name),
    lanes.oldestAt(name),
    coolsUntil(lanes, name),
    gates?.counts(name),
    programsOf(catalog, name),
  ]);
  // What an engine gives to the worker of its own process has no job.
  const running = workers.reduce((sum, lane) => sum + lane.running, 0);
  const recent = recentOf(workers);
  const active = Math.max(counts.active, running);
  const blocked_until = until + PROBE_MS > Date.now() ? new Date(until).toISOString() : null;
  const why = wait === null ? {} : { waits: waitOf(name, wait) };
  const oldest_at = oldestAt === null ? null : new Date(oldestAt).toISOString();
  const begins = later === 0 ? {} : { later };
  const gated = inGate === undefined || inGate.waiting === 0 ? {} : { gated: inGate.waiting };
  const more = { ...why, ...begins, ...gated, oldest_at, ...(recent && { recent }), ...cools, ...programs };
  return {
    name,
    ...counts,
    active,
    workers: serving,
    concurrency: globalConcurrency,
    blocked_until,
    ...more,
  };
}
