// Decides the sweeper's action for one directive of its index: forget it, check later, enqueue it, or end it. Never
// acts: the sweeper does.
import { beginsLater, type DirectiveRecord, dueFrom } from '../../store/request/records.ts';
import type { DueEntry } from '../../store/index/sweep-index.ts';

/** `at`: when the entry is looked at next, milliseconds since the epoch. */
export type SweepDecision =
  | { kind: 'forget' }
  /** It failed, and its dead letter may be missing. */
  | { kind: 'record' }
  /** `missed`: the journal does not have it. */
  | { kind: 'look_again'; at: number; missed?: boolean }
  | { kind: 'enqueue'; at: number }
  /** It has ended and left a task at its server, which a worker of its lane cancels. */
  | { kind: 'withdraw'; at: number }
  /** It begins when another one has ended. */
  | { kind: 'release'; at: number }
  /** It was cancelled, and the canceller has not ended it. */
  | { kind: 'cancel'; at: number; reason: string }
  /** It begins at that instant. */
  | { kind: 'park'; at: number }
  /** Its deadline has passed; or the instant by which it was to begin, and it has not. */
  | { kind: 'expire'; isTooLate?: true };

/** The shortest time between two checks of an entry, and the wait after a failed check. */
export const SHORTEST_LOOK_MS = 5_000;
export const LONGEST_LOOK_MS = 60_000;
/** A worker has this long to take a directive whose next attempt is due; then the sweeper enqueues it. */
const OVERDUE_MS = 500;
/** Shorter after a worker died: BullMQ may still hold the dead worker's job, and refuse the first new one. */
const SHORTEST_TAKEOVER_LOOK_MS = 500;
/** The index is written before the journal: an entry without what it names is kept this long. */
export const MISSING_GRACE_MS = 60_000;

/** A server that is away for longer after the end of a call keeps its task. */
const LEFT_TASK_MS = 10 * 60_000;

/** The next check: after as long as the directive has been in its state (`soForMs`), within bounds, at the latest at its deadline. */
function nextLook(record: DirectiveRecord, now: number, soForMs: number, shortestMs: number): number {
  const pauseMs = Math.min(Math.max(soForMs, shortestMs), LONGEST_LOOK_MS);
  const endsAt = Math.min(record.deadlineAt, startBy(record) ?? Infinity);
  return Math.min(now + pauseMs, Math.max(endsAt, now + 1));
}

/** null: it has begun, or may begin until its deadline. */
function startBy({ begin, startedAt }: DirectiveRecord): number | null {
  // @guard later-expires-2
  return startedAt === null ? (begin?.by ?? null) : null;
}

/** One that a worker holds may be about to begin. */
function isTooLate(record: DirectiveRecord, now: number): boolean {
  const by = startBy(record);
  const isHeld = record.status === 'running' && (record.leaseUntil ?? 0) > now;
  return by !== null && by <= now && !isHeld;
}

/** The end of another one is noticed so soon. */
export const BEHIND_LOOK_MS = 250;

/** Delay below which a directive stays with the sweeper. */
const SHORTEST_PARK_MS = 1_000;

type Seen = Pick<DueEntry, 'missedBefore' | 'recordedBefore'>;

export function sweepDecision(entry: Seen, record: DirectiveRecord | null, now: number): SweepDecision {
  if (!record)
    return entry.missedBefore
      ? { kind: 'forget' }
      : { kind: 'look_again', at: now + MISSING_GRACE_MS, missed: true };
  if (record.terminal !== null && record.task && now < (record.endedAt ?? 0) + LEFT_TASK_MS)
    return { kind: 'withdraw', at: now + SHORTEST_LOOK_MS };
  if (record.terminal !== null)
    return { kind: record.status === 'failed' && !entry.recordedBefore ? 'record' : 'forget' };
  if (record.deadlineAt <= now) return { kind: 'expire' };
  if (isTooLate(record, now)) return { kind: 'expire', isTooLate: true };
  // @guard once-replaced-look
  if (record.cancel !== null && record.status !== 'running')
    return { kind: 'cancel', at: now + SHORTEST_LOOK_MS, reason: record.cancel };
  if (record.behind) return { kind: 'release', at: now + BEHIND_LOOK_MS };
  const begins = beginsLater(record, now + SHORTEST_PARK_MS);
  if (begins !== null) return { kind: 'park', at: begins };
  // @guard takeover-2
  if (record.status === 'running') return leaseDecision(record, record.leaseUntil ?? now, now);
  const at = nextLook(record, now, now - dueFrom(record), SHORTEST_LOOK_MS);
  const { nextAttemptAt } = record;
  if (nextAttemptAt !== null && nextAttemptAt > now)
    return { kind: 'look_again', at: Math.min(at, nextAttemptAt + OVERDUE_MS) };
  return { kind: 'enqueue', at };
}

/** A running directive is looked at when its lease ends: by then its worker has extended the lease, or is dead. */
function leaseDecision(record: DirectiveRecord, leaseUntil: number, now: number): SweepDecision {
  if (leaseUntil > now) return { kind: 'look_again', at: nextLook(record, now, leaseUntil - now, 1) };
  return { kind: 'enqueue', at: nextLook(record, now, now - leaseUntil, SHORTEST_TAKEOVER_LOOK_MS) };
}
