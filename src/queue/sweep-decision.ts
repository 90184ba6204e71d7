// What is to be done about a directive that should have ended or begun.
// Must never do it: that is the sweeper's.
import type { DirectiveRecord } from '../journal/records.ts';
import type { DueEntry } from '../journal/sweep-index.ts';

/** What is to be done about one directive. */
export type SweepDecision =
  | { kind: 'forget' }
  | { kind: 'record' }
  | { kind: 'look_again'; at: number; missed?: boolean }
  | { kind: 'enqueue'; at: number }
  | { kind: 'expire' };

/** What cannot be looked at now is looked at again after this time. */
export const SHORTEST_LOOK_MS = 5_000;
const LONGEST_LOOK_MS = 60_000;
/** How long after the time of its next attempt somebody should have come. */
const OVERDUE_MS = 500;
/** What has lost its worker is looked at this soon after it was enqueued for: the job may have been held until then. */
const SHORTEST_TAKEOVER_LOOK_MS = 500;
/** A directive that is in the index but not in the journal is given this long to appear. */
const MISSING_GRACE_MS = 60_000;

/** Looks the more seldom the longer it has been so, and always at the deadline. */
function nextLook({ deadlineAt }: DirectiveRecord, now: number, soForMs: number, shortestMs: number): number {
  const pauseMs = Math.min(Math.max(soForMs, shortestMs), LONGEST_LOOK_MS);
  return Math.min(now + pauseMs, Math.max(deadlineAt, now + 1));
}

type Seen = Pick<DueEntry, 'missedBefore' | 'recordedBefore'>;

export function sweepDecision(entry: Seen, record: DirectiveRecord | null, now: number): SweepDecision {
  if (!record)
    return entry.missedBefore
      ? { kind: 'forget' }
      : { kind: 'look_again', at: now + MISSING_GRACE_MS, missed: true };
  if (record.terminal !== null)
    return { kind: record.status === 'failed' && !entry.recordedBefore ? 'record' : 'forget' };
  if (record.deadlineAt <= now) return { kind: 'expire' };
  if (record.status === 'running') return leaseDecision(record, record.leaseUntil ?? now, now);
  const at = nextLook(record, now, now - record.acceptedAt, SHORTEST_LOOK_MS);
  const { nextAttemptAt } = record;
  if (nextAttemptAt !== null && nextAttemptAt > now)
    return { kind: 'look_again', at: Math.min(at, nextAttemptAt + OVERDUE_MS) };
  return { kind: 'enqueue', at };
}

/** The end of a lease is looked at when it comes: nobody else may be there long enough to notice that a worker died. */
function leaseDecision(record: DirectiveRecord, leaseUntil: number, now: number): SweepDecision {
  if (leaseUntil > now) return { kind: 'look_again', at: nextLook(record, now, leaseUntil - now, 1) };
  return { kind: 'enqueue', at: nextLook(record, now, now - leaseUntil, SHORTEST_TAKEOVER_LOOK_MS) };
}
