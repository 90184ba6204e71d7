// The instants of a cron expression in a time zone, by croner, which alone is asked here.
// Must never return an instant twice by the clock on the wall where the hours are fixed, nor search without an end.
import { Cron } from 'croner';

/** croner takes also dates and names as @daily; these are expressions alone. */
const EXPRESSION = /^[0-9A-Za-z*,/?#+ -]{1,128}$/;
/** Each step searches beyond one change of the clock. */
const MOST_CHANGES = 4;
/** A change of the clock is not followed by another one so soon. */
const BEFORE_CHANGE_MS = 4 * 3_600_000;
/** A zone may skip a whole day, as Apia did. */
const AROUND_GAP_MS = 26 * 3_600_000;
const HOUR_MS = 3_600_000;
/** Compiled ones are kept: each costs a millisecond. */
const MOST_KEPT = 200;

export interface CronTimes {
  /** The first instant after `after`, milliseconds since the epoch; null: there is none. */
  next(after: number): number | null;
}

/** Throws an error in a sentence where the expression or the zone is not one. */
export function cronTimes(expression: string, timeZone: string): CronTimes {
  const name = `${timeZone} ${expression}`;
  const known = kept.get(name);
  if (known !== undefined) return known;
  const made = compiled(expression, timeZone);
  const [oldest] = kept.keys();
  if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest);
  kept.set(name, made);
  return made;
}

const kept = new Map<string, CronTimes>();

function compiled(expression: string, timeZone: string): CronTimes {
  if (!EXPRESSION.test(expression)) throw new Error('is not a cron expression of five or six fields');
  const cron = cronOf(expression, timeZone);
  const onWall = cronOf(expression, 'UTC');
  const wall = wallClock(timeZone);
  const hours = expression.trim().split(/ +/).at(-4) ?? '';
  return {
    next(after) {
      // By the wall alone: what lies in a gap of the clock is known to this one only.
      const shown = onWall.nextRun(new Date(wall(after)))?.getTime() ?? null;
      if (shown === null) return null;
      const gap = gapAround(wall, shown);
      // Of every hour, one that is skipped whole is none: the next one has its own instants.
      const isLost = gap !== null && (hours !== '*' || gap.lengthMs % HOUR_MS !== 0);
      // In every hour, or each nth one, an hour that comes twice is two hours.
      const at = nextOnce(cron, after, hours.startsWith('*') ? null : wall);
      return isLost ? Math.min(at ?? Infinity, gap.endsAt) : at;
    },
  };
}

/** `wall`: of what it shows twice the first counts; null: both do. */
function nextOnce(cron: Cron, after: number, wall: WallClock | null): number | null {
  let from = after;
  for (let left = MOST_CHANGES; left > 0; left -= 1) {
    const at = cron.nextRun(new Date(from))?.getTime() ?? null;
    const repeatedUntil = at === null || wall === null ? null : endOfRepetition(wall, at);
    if (at === null || repeatedUntil === null) return at;
    from = repeatedUntil - 1;
  }
  return null;
}

function cronOf(expression: string, timezone: string): Cron {
  try {
    return new Cron(expression, { timezone, paused: true, mode: '5-or-6-parts' });
  } catch (error) {
    throw new Error(`is not a cron expression: ${(error as Error).message.slice(0, 160)}`, { cause: error });
  }
}

/** Milliseconds since the epoch → what the clock on the wall shows then, as if it were UTC. */
type WallClock = (at: number) => number;

/** Where the clock on the wall was set back and shows `at` once more: when it shows something new. null: it has not shown it before. */
function endOfRepetition(wall: WallClock, at: number): number | null {
  const before = at - BEFORE_CHANGE_MS;
  const setBackMs = wall(before) - before - (wall(at) - at);
  if (setBackMs <= 0) return null;
  const until = changeBetween(wall, before, at) + setBackMs;
  return at < until ? until : null;
}

/** Where the clock on the wall is set forward and never shows `shown`: when it is, and by how much. null: it shows it. */
function gapAround(wall: WallClock, shown: number): { endsAt: number; lengthMs: number } | null {
  const near = shown - (wall(shown) - shown);
  const [earlier, later] = [near - AROUND_GAP_MS, near + AROUND_GAP_MS];
  const [before, after] = [wall(earlier) - earlier, wall(later) - later];
  if (after <= before) return null;
  const endsAt = changeBetween(wall, earlier, later);
  const isSkipped = shown - before >= endsAt && shown - after < endsAt;
  return isSkipped ? { endsAt, lengthMs: after - before } : null;
}

/** The first second at which the clock on the wall goes as it does at `later`, of two between which it is changed once. */
function changeBetween(wall: WallClock, from: number, to: number): number {
  const offset = wall(to) - to;
  let [earlier, later] = [from, to];
  while (later - earlier > 1_000) {
    const middle = earlier + Math.floor((later - earlier) / 2_000) * 1_000;
    if (wall(middle) - middle === offset) later = middle;
    else earlier = middle;
  }
  return later;
}

function wallClock(timeZone: string): WallClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
    return Date.UTC(
      ...([part('year'), part('month') - 1, part('day')] as const),
      ...([part('hour'), part('minute'), part('second')] as const),
    );
  };
}

/** Whether this machine knows the zone. */
export function isTimeZone(name: string): boolean {
  try {
    return wallClock(name)(0) <= 86_400_000;
  } catch {
    return false;
  }
}
