// The days of a time zone around an instant, so that a script can find its own day by the clock of Redis.
// Must never decide which day it is: that clock does.

export interface BudgetDay {
  /** The day, such as `2026-11-23`. */
  readonly name: string;
  /** Seconds since the epoch; it ends as the next one begins. */
  readonly beginsAt: number;
  readonly endsAt: number;
}

export interface BudgetDays {
  readonly timeZone: string;
  readonly days: readonly BudgetDay[];
}

const DAY_SECONDS = 86_400;
/** Longer than any zone's longest day. */
const STEP_SECONDS = 30 * 3_600;

/** From the day before `now` to the day after the next. Throws `RangeError` where there is no such time zone. */
export function daysAround(now: number, timeZone: string): BudgetDays {
  const nameAt = namer(timeZone);
  const days: BudgetDay[] = [];
  let beginsAt = nextBegin(Math.floor(now / 1_000) - 2 * DAY_SECONDS, nameAt);
  while (days.length < 4) {
    const endsAt = nextBegin(beginsAt, nameAt);
    days.push({ name: nameAt(beginsAt), beginsAt, endsAt });
    beginsAt = endsAt;
  }
  return { timeZone, days };
}

/** The first second of the day after that of `seconds`, found by halves: clocks change at any hour. */
function nextBegin(seconds: number, nameAt: (seconds: number) => string): number {
  const name = nameAt(seconds);
  let [same, other] = [seconds, seconds + STEP_SECONDS];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (nameAt(middle) === name) same = middle;
    else other = middle;
  }
  return other;
}

function namer(timeZone: string): (seconds: number) => string {
  // Written as year-month-day with two digits each, in every time zone.
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    calendar: 'gregory',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  return (seconds) => format.format(seconds * 1_000);
}

/** Keeps the days until another instant needs others. */
export function createBudgetDays(timeZone: string): (now: number) => BudgetDays {
  let kept: BudgetDays | undefined;
  return (now) => {
    const [, today] = kept?.days ?? [];
    const seconds = now / 1_000;
    if (kept === undefined || today === undefined || seconds < today.beginsAt || seconds >= today.endsAt)
      kept = daysAround(now, timeZone);
    return kept;
  };
}
