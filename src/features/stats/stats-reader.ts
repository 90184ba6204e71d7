// Reads statistics as a chart shows them.
// Must never read more than one answer's share of intervals, nor hold up Redis or the process for all of them at once.
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
import { createSteps } from '../../platform/bounds/steps.ts';
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
  const nextStep = createSteps();

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
      for (const [index, found] of read.entries())
        for (const [name, text] of found) {
          await nextStep();
          addPoint(series, name, [slice[index] ?? 0, text]);
        }
    }
    const ranked = [...series].sort(([, left], [, right]) => endedIn(right.total) - endedIn(left.total));
    const shown: Stats['series'] = [];
    for (const [name, { total, points }] of ranked.slice(0, limit)) {
      const made: Stats['series'][number]['points'] = [];
      for (const point of points) {
        await nextStep();
        made.push(shownPoint(point, by === 'score'));
      }
      const counts = countsShown(total, by === 'score');
      shown.push({ name: by === undefined ? null : name, total: counts, points: made });
    }
    return {
      interval,
      since: instant(beginsAt),
      until: instant(endsAt),
      by: by ?? null,
      series: shown,
      series_left_out: Math.max(0, ranked.length - limit),
    };
  };
}

/** Text that was counted in the interval that begins at `at`. */
type Point = readonly [at: number, text: string];

interface SeriesRead {
  readonly total: Counts;
  readonly points: Point[];
}

function addPoint(series: Map<string, SeriesRead>, name: string, point: Point): void {
  const known = series.get(name) ?? { total: new Map<string, number>(), points: [] };
  series.set(name, known);
  addPacked(known.total, point[1]);
  known.points.push(point);
}

function shownPoint([at, text]: Point, withScore: boolean): Stats['series'][number]['points'][number] {
  const counts: Counts = new Map();
  addPacked(counts, text);
  return { at: instant(at), ...countsShown(counts, withScore) };
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
