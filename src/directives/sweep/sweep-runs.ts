// The sweeper's check of a run: wakes it when it has unread signals, an outbox to work off, or a wake time that has passed.
// Must never take a turn, nor end a run: only an engine does.
import type { RunActivityIndex } from '../../store/run/run-activity-index.ts';
import type { RunHead, RunJournal } from '../../store/run/run-journal.ts';
import type { LaterIndex } from '../../store/index/later-index.ts';
import type { DueEntry, SweepIndex } from '../../store/index/sweep-index.ts';
import { REPLACED } from '../under-key.ts';
import { BEHIND_LOOK_MS, LONGEST_LOOK_MS, MISSING_GRACE_MS, SHORTEST_LOOK_MS } from './sweep-decision.ts';
import type { SayRunWait } from './sweep-waits.ts';
import { RUN_LANE, WAKE_AHEAD_MS, type RunWaker } from '../../queue/run-wake.ts';

export interface RunSweepParts {
  runs: RunJournal;
  /** Asks a run to end. */
  cancelRun(requestId: string, reason: string): Promise<unknown>;
  index: SweepIndex;
  later: Pick<LaterIndex, 'park' | 'drop'>;
  waker: RunWaker;
  /** Default: runs are not counted. */
  activity?: Pick<RunActivityIndex, 'note' | 'listed'>;
  /** Who started it or took its last turn may have died before the request was noted for the list. Default: there is no list. */
  changed?: ((requestId: string) => void) | undefined;
  /** Reports why no engine advances it. Default: not reported. */
  sayRunWait?: SayRunWait;
}

/** Decision of the sweeper about one run. `at`: the next check, milliseconds since the epoch. */
export type RunDecision =
  | { kind: 'forget' }
  | { kind: 'missing'; at: number }
  /** It begins then. */
  | { kind: 'park'; at: number }
  /** It begins when another one has ended. */
  | { kind: 'release'; at: number }
  /** Another run replaces it, and its submitter has not cancelled this one. */
  | { kind: 'cancel'; at: number }
  /** `wake`: now. `wakeAhead`: at this instant, which is too near for another check. */
  | { kind: 'look_again'; at: number; wake: boolean; wakeAhead: number | null };

export function runDecision(
  entry: Pick<DueEntry, 'missedBefore'>,
  head: RunHead | null,
  now: number,
): RunDecision {
  if (head === null)
    return entry.missedBefore ? { kind: 'forget' } : { kind: 'missing', at: now + MISSING_GRACE_MS };
  if (head.ended && head.outbox === 0) return { kind: 'forget' };
  if (isToCancel(head)) return { kind: 'cancel', at: now + SHORTEST_LOOK_MS };
  if (waitsForAnother(head)) return { kind: 'release', at: now + BEHIND_LOOK_MS };
  // Somebody may have asked for its end.
  if (head.status === 'pending' && !head.unread && head.begin !== null && head.begin.at > now)
    return { kind: 'park', at: head.begin.at };
  const wakeAt = head.ended ? null : head.wakeAt;
  const due = wakeAt !== null && wakeAt <= now;
  const wake = head.unread || head.outbox > 0 || head.status === 'pending' || due;
  const idleMs = Math.min(Math.max(now - head.changedAt, SHORTEST_LOOK_MS), LONGEST_LOOK_MS);
  const ahead = wakeAt !== null && !due ? wakeAt : null;
  const at = Math.min(now + idleMs, ahead ?? Infinity);
  const wakeAhead = ahead !== null && ahead - now <= WAKE_AHEAD_MS ? ahead : null;
  return { kind: 'look_again', at, wake, wakeAhead };
}

function isToCancel({ ended, isReplaced = false, isCancelled = false }: RunHead): boolean {
  // @guard once-run-cancelled
  return !ended && isReplaced && !isCancelled;
}

/** Also where it is to begin later, which counts from then. */
function waitsForAnother({ ended, behind = null, isCancelled = false }: RunHead): boolean {
  return !ended && behind !== null && !isCancelled;
}

export function createRunSweep(parts: RunSweepParts) {
  const { runs, index, later, waker, activity, changed, sayRunWait } = parts;

  /** A turn checks this when it begins. */
  async function release({ requestId, ...entry }: DueEntry, at: number): Promise<void> {
    const { kind } = await runs.release(requestId);
    if (kind === 'released') await waker.wake(requestId, 0);
    await index.lookAgain({ requestId, ...entry }, at);
  }

  return async (entry: DueEntry, now: number): Promise<void> => {
    const head = await runs.head(entry.requestId);
    const decision = runDecision(entry, head, now);
    if (decision.kind === 'forget') {
      activity?.note(entry.requestId, null);
      // Who ended it before it began may have died before that was taken out of what begins later.
      if (head !== null && head.begin !== null && head.begin.at > now) await later.drop(entry, RUN_LANE, 0);
      return index.forget(entry);
    }
    if (decision.kind === 'missing') return index.lookAgain(entry, decision.at, true);
    changed?.(entry.requestId);
    if (decision.kind === 'park') return later.park(entry, RUN_LANE, decision.at);
    if (decision.kind === 'release') return release(entry, decision.at);
    if (decision.kind === 'cancel') await parts.cancelRun(entry.requestId, REPLACED);
    if (decision.kind === 'cancel') return index.lookAgain(entry, decision.at);
    if (decision.wake) await waker.wake(entry.requestId, head?.version ?? 0);
    if (decision.wakeAhead !== null) await waker.wakeAt(entry.requestId, decision.wakeAhead);
    await index.lookAgain(entry, decision.at);
    if (decision.wake && head !== null) await sayRunWait?.(entry.requestId, head.status);
  };
}
