// Reads statistics as a chart shows them.
// Must never read more than one answer's share of intervals, nor hold up Redis for all of them at once.
import { ALL_TENANTS } from '../../contract/access/tenant-name.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import {
  DEFAULT_SERIES,
  MOST_INTERVALS,
  type Stats,
  STATS_INTERVALS,
  STATS_KEPT_MS,
  type StatsInterval,
  type StatsQuery,
} from '../../contract/request/stats.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../../store/keys.ts';
import { addPacked, type Counts, countsShown, endedIn } from './packed-counts.ts';

const DAY_MS = 86_400_000;
/** Intervals that are asked for at once. */
const READ_AT_ONCE = 50;

export type ReadStats = (query: StatsQuery, tenant: string) => Promise<Stats>;

/** `now`: by the clock of Redis. Throws `DirectiveRefused` (`invalid_query`). */
export function createStatsReader(
  connection: RedisConnection,
  keys: KeySpace,
  now: () => Promise<number>,
): ReadStats {
  async function readInterval(key: string, name: string | undefined): Promise<[string, string][]> {
    if (name === undefined) return Object.entries(await connection.hgetall(key));
    const text = await connection.hget(key, name);
    return text === null ? [] : [[name, text]];
  }

  return async (query, tenant) => {
    const { by, limit = DEFAULT_SERIES } = query;
    const range = rangeOf(query, await now());
    const { interval, beginsAt, endsAt } = range;
    const length = STATS_INTERVALS[interval];
    const isOfAll = by === 'tenant';
    const base = `${keys.stats(isOfAll ? ALL_TENANTS : tenant)}${length}:`;
    const starts = Array.from(
      { length: Math.ceil((endsAt - beginsAt) / length) },
      (_, at) => beginsAt + at * length,
    );
    const series = new Map<string, SeriesRead>();
    for (let first = 0; first < starts.length; first += READ_AT_ONCE) {
      const slice = starts.slice(first, first + READ_AT_ONCE);
      const read = await Promise.all(slice.map((at) => readInterval(`${base}${at}:${by ?? ''}`, query.name)));
      read.forEach((found, index) => addInterval(series, slice[index] ?? 0, found));
    }
    const ranked = [...series].sort(([, left], [, right]) => endedIn(right.total) - endedIn(left.total));
    return {
      interval,
      since: instant(beginsAt),
      until: instant(endsAt),
      by: by ?? null,
      series: ranked
        .slice(0, limit)
        .map(([name, read]) => shown(by === undefined ? null : name, read, by === 'score')),
      series_left_out: Math.max(0, ranked.length - limit),
    };
  };
}

interface SeriesRead {
  readonly total: Counts;
  readonly points: (readonly [at: number, text: string])[];
}

function addInterval(series: Map<string, SeriesRead>, at: number, found: readonly [string, string][]): void {
  for (const [name, text] of found) {
    const known = series.get(name) ?? { total: new Map<string, number>(), points: [] };
    series.set(name, known);
    addPacked(known.total, text);
    known.points.push([at, text]);
  }
}

function shown(
  name: string | null,
  { total, points }: SeriesRead,
  withScore: boolean,
): Stats['series'][number] {
  return {
    name,
    total: countsShown(total, withScore),
    points: points.map(([at, text]) => {
      const counts: Counts = new Map();
      addPacked(counts, text);
      return { at: instant(at), ...countsShown(counts, withScore) };
    }),
  };
}

interface Range {
  readonly interval: StatsInterval;
  readonly beginsAt: number;
  readonly endsAt: number;
}

function rangeOf(query: StatsQuery, now: number): Range {
  if (query.name !== undefined && query.by === undefined)
    throw refusedAt('invalid_query', [{ path: 'name', message: 'needs `by`' }]);
  const endsAt = query.until === undefined ? now : Date.parse(query.until);
  const since = query.since === undefined ? endsAt - DAY_MS : Date.parse(query.since);
  if (since >= endsAt)
    throw refusedAt('invalid_query', [{ path: 'since', message: 'must lie before `until`' }]);
  const interval = query.interval ?? fitting(since, endsAt, now);
  const length = STATS_INTERVALS[interval];
  const beginsAt = since - (since % length);
  if (Math.ceil((endsAt - beginsAt) / length) > MOST_INTERVALS) {
    const message = `has more than ${MOST_INTERVALS} intervals of ${interval} up to \`until\`: choose a longer interval`;
    throw refusedAt('invalid_query', [{ path: 'since', message }]);
  }
  return { interval, beginsAt, endsAt };
}

/** The shortest one that is kept since then, and is not too short. */
function fitting(since: number, endsAt: number, now: number): StatsInterval {
  const fits = (interval: StatsInterval): boolean =>
    now - since <= STATS_KEPT_MS[interval] && (endsAt - since) / STATS_INTERVALS[interval] < MOST_INTERVALS;
  return (['5m', '1h'] as const).find(fits) ?? '1d';
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
