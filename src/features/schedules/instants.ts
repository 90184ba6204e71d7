// The instants of a schedule, and by how much each is fired later: pure functions of what the schedule says.
// Must never ask a clock, nor return another instant for the same schedule in another process.
import { hash } from 'node:crypto';
import { cronTimes } from './cron.ts';

/** The timing alone. */
export interface OwnTiming {
  readonly cron: string | null;
  readonly timeZone: string | null;
  readonly everyMs: number | null;
  /** Whole seconds: where `everyMs` is counted from. */
  readonly anchorAt: number;
  readonly startsAt: number | null;
  readonly endsAt: number | null;
}

/** Up to the change that replaced it. */
export interface EarlierTiming extends OwnTiming {
  readonly until: number;
}

export interface Timing extends OwnTiming {
  readonly jitterMs: number;
  /** Those whose instants may not all be fired yet, the oldest first. Default: none. */
  readonly earlier?: readonly EarlierTiming[];
}

/** The first instant after `after`, milliseconds since the epoch; null: there is none. */
export function nextInstant(timing: Timing, after: number): number | null {
  let from = after;
  for (const each of timing.earlier ?? []) {
    const at = from < each.until ? ownInstant(each, from) : null;
    if (at !== null && at <= each.until) return at;
    from = Math.max(from, each.until);
  }
  return ownInstant(timing, from);
}

function ownInstant(timing: OwnTiming, after: number): number | null {
  const { startsAt, endsAt } = timing;
  // At its start it may fire.
  const from = startsAt === null ? after : Math.max(after, startsAt - 1);
  const at =
    timing.everyMs === null ? cronInstant(timing, from) : countedInstant(timing, timing.everyMs, from);
  return at === null || (endsAt !== null && at > endsAt) ? null : at;
}

function cronInstant({ cron, timeZone }: OwnTiming, after: number): number | null {
  // croner looks at whole seconds: one that has begun is over.
  const whole = Math.floor(after / 1_000) * 1_000;
  return cronTimes(cron ?? '', timeZone ?? 'UTC').next(whole);
}

function countedInstant({ anchorAt, startsAt }: OwnTiming, everyMs: number, after: number): number {
  const first = startsAt === null ? anchorAt + everyMs : anchorAt;
  return after < first ? first : anchorAt + (Math.floor((after - anchorAt) / everyMs) + 1) * everyMs;
}

/** Delay of the firing of an instant: 0 to `jitterMs`, the same in every process. */
export function jitterOf(scheduleId: string, instant: number, jitterMs: number): number {
  if (jitterMs === 0) return 0;
  const drawn = Number.parseInt(hash('sha256', `${scheduleId} ${instant}`, 'hex').slice(0, 12), 16);
  return Math.floor((drawn / 2 ** 48) * (jitterMs + 1));
}

export interface Missed {
  readonly until: number;
  readonly instants: number;
  /** null: none follows. */
  readonly next: number | null;
}

/** From here on the timing alone counts. */
function changedAt({ earlier = [] }: Timing): number {
  return earlier.at(-1)?.until ?? -Infinity;
}

/** Counted one by one: more of a cron expression are only said to be so many. */
const MOST_COUNTED = 200;

/** The instants from `first` on that are older than `before`, and the first one that is not. */
export function missedInstants(timing: Timing, first: number, before: number): Missed {
  const next = nextInstant(timing, Math.max(first, before - 1));
  if (timing.everyMs !== null && first >= changedAt(timing)) {
    const end = next ?? timing.endsAt ?? first;
    const instants =
      next === null ? Math.floor((end - first) / timing.everyMs) + 1 : (next - first) / timing.everyMs;
    return { until: first + (instants - 1) * timing.everyMs, instants, next };
  }
  let until = first;
  let instants = 1;
  for (; instants < MOST_COUNTED; instants += 1) {
    const following = nextInstant(timing, until);
    if (following === null || (next !== null && following >= next)) break;
    until = following;
  }
  return { until, instants, next };
}

/** Name of the request that an instant fires; `2027-03-28T01:00:00Z` without what an id cannot have or need not. */
export function instantName(instant: number): string {
  return `${new Date(instant).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}
