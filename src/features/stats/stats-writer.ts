// Gathers what a process counts, and adds it to the statistics in Redis every two seconds: nothing is written with a step itself.
// Must never hold up what is counted, nor grow with the number of names or with an outage of Redis.
import { ALL_TENANTS } from '../../contract/access/tenant-name.ts';
import { tenantOf } from '../../contract/access/tenant.ts';
import {
  OTHER_NAMES,
  STATS_INTERVALS,
  STATS_KEPT_MS,
  type StatsInterval,
} from '../../contract/request/stats.ts';
import { isPassing } from '../../contract/tool/server-read.ts';
import { createLoop, type Startable } from '../../platform/lifecycle.ts';
import type { CountedFact, CountFact } from '../../platform/telemetry/reports.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../../store/keys.ts';
import { prepareScripts } from '../../store/scripts.ts';
import { addCounts, addFact, type Counts } from './packed-counts.ts';

/** Names of one kind that an interval keeps. */
const MOST_NAMES = 64;
/** Names of one kind that a process gathers between two writes. */
const MOST_GATHERED = 256;
const LONGEST_NAME = 128;
const WRITE_EVERY_MS = 2_000;
/** Series of one call: Redis does nothing else for about a millisecond. */
const WRITTEN_AT_ONCE = 16;
const LONGEST_STOP_MS = 1_000;

/** Kind of names, or '' of everything. */
type Group = CountedFact['series'][number][0] | 'tenant';
type Series = Map<string, Counts>;

/** Series of one tenant that are to be added. */
type Gathered = Map<Group, Series>;

export interface StatsCounter {
  readonly count: CountFact;
  /** Takes the counts since the last call, by tenant; `*`: all together. */
  drain(): Map<string, Gathered>;
}

export function createStatsCounter(): StatsCounter {
  let tenants = new Map<string, Gathered>();

  function countsOf(tenant: string, group: Group, name: string): Counts {
    const groups = kept(tenants, tenant, () => new Map<Group, Series>());
    const series = kept(groups, group, () => new Map<string, Counts>());
    const known = series.get(name);
    if (known !== undefined) return known;
    return kept(series, series.size < MOST_GATHERED ? name : OTHER_NAMES, () => new Map<string, number>());
  }

  return {
    count(requestId, { series, ...fact }) {
      if (isPassing(requestId)) return;
      const tenant = tenantOf(requestId);
      for (const [group, name] of series) {
        const short = name.length > LONGEST_NAME ? name.slice(0, LONGEST_NAME).toWellFormed() : name;
        addFact(countsOf(tenant, group, short), fact);
      }
    },
    drain() {
      const own = [...tenants];
      for (const [tenant, groups] of own)
        for (const [group, series] of groups)
          for (const [name, counts] of series) {
            addCounts(countsOf(ALL_TENANTS, group, name), counts);
            if (group === '') addCounts(countsOf(ALL_TENANTS, 'tenant', tenant), counts);
          }
      const drained = tenants;
      tenants = new Map();
      return drained;
    },
  };
}

function kept<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** One call of the script. */
interface Addition {
  readonly base: string;
  readonly number: number;
  readonly group: Group;
  readonly series: readonly string[];
}

const LENGTHS = (Object.keys(STATS_INTERVALS) as StatsInterval[]).flatMap((interval) => [
  STATS_INTERVALS[interval],
  STATS_KEPT_MS[interval],
]);

export interface StatsWriterParts {
  readonly connection: RedisConnection;
  readonly keys: KeySpace;
  readonly counter: Pick<StatsCounter, 'drain'>;
  /** Id of this process. */
  readonly processId: string;
  readonly onError: (error: Error) => void;
}

/** A stop adds what is left. */
export function createStatsWriter(parts: StatsWriterParts): Startable & { write(): Promise<void> } {
  const { connection, keys, counter, processId, onError } = parts;
  const run = prepareScripts(connection);
  let number = 0;
  /** Additions that Redis has not confirmed: they are sent again unchanged before any others. */
  let additions: Addition[] = [];

  function gathered(): Addition[] {
    return [...counter.drain()].flatMap(([tenant, groups]) =>
      [...groups].flatMap(([group, series]) => {
        const entries = [...series];
        return Array.from({ length: Math.ceil(entries.length / WRITTEN_AT_ONCE) }, (_, at) => ({
          base: keys.stats(tenant),
          number: (number += 1),
          group,
          series: entries.slice(at * WRITTEN_AT_ONCE, (at + 1) * WRITTEN_AT_ONCE).flatMap(packed),
        }));
      }),
    );
  }

  async function write(): Promise<void> {
    if (additions.length === 0) additions = gathered();
    for (let next = additions[0]; next !== undefined; next = additions[0]) {
      const { base, group, series } = next;
      const bounds = [MOST_NAMES, OTHER_NAMES, LENGTHS.length / 2, ...LENGTHS];
      await run('stats-add', [base], [processId, next.number, group, ...bounds, ...series]);
      additions.shift();
    }
  }

  const loop = createLoop({
    name: 'statistics',
    work: write,
    everyMs: WRITE_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return {
    ...loop,
    write,
    async stop(by) {
      await loop.stop(by);
      await write().catch(onError);
    },
  };
}

function packed([name, counts]: [string, Counts]): [string, string] {
  return [name, [...counts].map(([key, by]) => `${key}=${by}`).join(' ')];
}
