// The next action for a schedule: a pure function of its record, the clock, and whether a request of it is open. Never
// fires an instant that is later than the schedule allows, nor leaves one without an outcome.
import { onceFieldOf } from '../../contract/directive/once.ts';
import { FIRING_PREFIX } from '../../contract/schedule/schedule.ts';
import { jitterOf, missedInstants, type Missed, nextInstant } from './instants.ts';
import { type Schedule, timingOf } from './schedule-record.ts';

export interface Instant {
  readonly at: number;
  /** Field of the record that holds it. */
  readonly from: 'next' | 'queued';
}

export type Step =
  /** Next time the schedule is due. `null`: never. */
  | { readonly kind: 'wait'; readonly until: number | null }
  /** It ended long ago. */
  | { readonly kind: 'remove' }
  | { readonly kind: 'fire'; readonly instant: Instant; readonly cancels: readonly string[] }
  | { readonly kind: 'skip'; readonly instant: Instant; readonly reason: string }
  | { readonly kind: 'queue'; readonly instant: Instant }
  | { readonly kind: 'miss'; readonly instant: Instant; readonly missed: Missed }
  /** A process began to fire it and died, and it is too late to repeat it. */
  | { readonly kind: 'lose'; readonly instant: Instant };

/** An ended schedule is shown so long. */
export const KEEP_ENDED_MS = 7 * 86_400_000;
/** How often the end of what is in the way of a queued instant is looked for. */
const LOOK_AGAIN_MS = 1_000;

export interface Situation {
  readonly now: number;
  /** Those of `requests` that have not ended. */
  readonly open: readonly string[];
  /** The present bound: the retention may be shorter than at the creation. */
  readonly catchUpMs: number;
}

export function nextStep(schedule: Schedule, { now, open, catchUpMs }: Situation): Step {
  const { firingAt, endedAt, queuedAt, nextAt } = schedule;
  if (endedAt !== null)
    return now >= endedAt + KEEP_ENDED_MS
      ? { kind: 'remove' }
      : { kind: 'wait', until: endedAt + KEEP_ENDED_MS };
  if (firingAt !== null) {
    const instant: Instant = { at: firingAt, from: firingAt === queuedAt ? 'queued' : 'next' };
    const isLate = now - schedule.begunAt > catchUpMs;
    return isLate ? { kind: 'lose', instant } : { kind: 'fire', instant, cancels: cancelled(schedule, open) };
  }
  if (schedule.paused !== null) return { kind: 'wait', until: null };
  if (queuedAt !== null && (open.length === 0 || waitsForNone(schedule)))
    return {
      kind: 'fire',
      instant: { at: queuedAt, from: 'queued' },
      cancels: cancelled(schedule, open),
    };
  if (nextAt === null) return { kind: 'wait', until: queuedAt === null ? null : now + LOOK_AGAIN_MS };
  const dueAt = dueAtOf(schedule, nextAt);
  if (dueAt <= now) return dueStep(schedule, { at: nextAt, from: 'next' }, { now, open, catchUpMs });
  return { kind: 'wait', until: queuedAt === null ? dueAt : Math.min(dueAt, now + LOOK_AGAIN_MS) };
}

function dueStep(schedule: Schedule, instant: Instant, { now, open, catchUpMs }: Situation): Step {
  const { overlap, jitter_ms: jitterMs } = schedule.spec;
  const oldest = now - catchUpMs - jitterMs;
  if (instant.at < oldest)
    return { kind: 'miss', instant, missed: missedInstants(timingOf(schedule), instant.at, oldest) };
  if (open.length === 0 || waitsForNone(schedule))
    return { kind: 'fire', instant, cancels: cancelled(schedule, open) };
  if (overlap === 'skip') return { kind: 'skip', instant, reason: `${open[0]} is open` };
  if (schedule.queuedAt === null) return { kind: 'queue', instant };
  const queued = new Date(schedule.queuedAt).toISOString();
  return { kind: 'skip', instant, reason: `${open[0]} is open, and ${queued} waits for its end` };
}

/** Also of an instant that was queued before `overlap` was changed. */
function waitsForNone({ spec: { overlap } }: Schedule): boolean {
  // @guard schedule-overlap
  return overlap === 'allow' || overlap === 'cancel_running';
}

/** A request that represents a firing may belong to another caller, and must not be cancelled for a submission without a key. */
function cancelled({ spec, template }: Schedule, open: readonly string[]): readonly string[] {
  if (spec.overlap !== 'cancel_running') return [];
  return isUnderKey(template) ? open : open.filter((each) => each.startsWith(FIRING_PREFIX));
}

/** Whether the service chooses the requests of its firings. */
function isUnderKey({ directives = [], run }: Schedule['template']): boolean {
  return [...directives, run ?? {}].some((each) => onceFieldOf(each) !== undefined);
}

/** When an instant is fired: its jitter later. */
export function dueAtOf(schedule: Pick<Schedule, 'id' | 'spec'>, instant: number): number {
  return instant + jitterOf(schedule.id, instant, schedule.spec.jitter_ms);
}

export interface Following {
  readonly nextAt: number | null;
  readonly queuedAt: number | null;
  /** There is nothing more to fire. */
  readonly ends: boolean;
  /** When it is due. */
  readonly lookAt: number;
}

/** The schedule after an instant has its outcome. `missed`: with those that were missed after it. */
export function following(schedule: Schedule, instant: Instant, now: number, missed?: Missed): Following {
  const isNext = instant.from === 'next';
  const nextAt = !isNext
    ? schedule.nextAt
    : missed === undefined
      ? nextInstant(timingOf(schedule), instant.at)
      : missed.next;
  const queuedAt = isNext ? schedule.queuedAt : null;
  const ends = nextAt === null && queuedAt === null;
  const dueAt = nextAt === null ? Infinity : dueAtOf(schedule, nextAt);
  const lookAt = ends
    ? now + KEEP_ENDED_MS
    : Math.min(dueAt, queuedAt === null ? Infinity : now + LOOK_AGAIN_MS);
  return { nextAt, queuedAt, ends, lookAt };
}
