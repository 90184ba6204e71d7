// The instants of a cron expression in a time zone, by croner, which alone is asked here.
// Must never return an instant twice by the clock on the wall where the hours are fixed, nor search without an end.
import { Cron } from 'croner';

/** croner takes also dates and names as @daily; these are expressions alone. */
const EXPRESSION = /^[0-9A-Za-z*,/?#+ -]{1,128}$/;
/** Each looks beyond one change of the clock. */
const MOST_CHANGES = 4;
/** A change of the clock is not followed by another one so soon. */
const BEFORE_CHANGE_MS = 4 * 3_600_000;
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
  const wall = wallClock(timeZone);
  const fields = expression.trim().split(/ +/);
  // In every hour, or each nth one, an hour that comes twice is two hours.
  const isEveryHour = fields.at(-4)?.startsWith('*') === true;
  return {
    next(after) {
      let from = after;
      for (let left = MOST_CHANGES; left > 0; left -= 1) {
        const at = cron.nextRun(new Date(from))?.getTime() ?? null;
        const repeatedUntil = at === null || isEveryHour ? null : endOfRepetition(wall, at);
        if (at === null || repeatedUntil === null) return at;
        from = repeatedUntil - 1;
      }
      return null;
    },
  };
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
  const offset = wall(at) - at;
  const before = at - BEFORE_CHANGE_MS;
  const setBackMs = wall(before) - before - offset;
  if (setBackMs <= 0) return null;
  let [earlier, changed] = [before, at];
  while (changed - earlier > 1_000) {
    const middle = earlier + Math.floor((changed - earlier) / 2_000) * 1_000;
    if (wall(middle) - middle === offset) changed = middle;
    else earlier = middle;
  }
  const until = changed + setBackMs;
  return at < until ? until : null;
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
