// The writes of the holder of a claim while its directive continues: its lease, and its way back to a lane. Never ends
// a directive.
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { KeySpace } from '../keys.ts';
import { createLeases } from '../limits/leases.ts';
import type { RunScript } from '../scripts.ts';
import type { RetryVerdict } from './verdicts.ts';
import type { WaitSignal } from './wait-note.ts';
import { writeSignal } from '../log/stored-signal.ts';
import type { ClaimRef } from '../refs.ts';

/** Where a directive goes on after a failure: `stage` is the record of its candidate, opaque to the journal. */
export interface Move {
  stage: string;
  lane: string;
}

/** How a claim is given back. */
export interface Release {
  /** Readers know something of this attempt, so that it keeps its number although no failure is counted. Default: false. */
  seen?: boolean;
  /** Why, a word. Default: that of `waiting`, or `released`. */
  reason?: string | undefined;
  /** The same as a signal, for waiting callers. Default: none. */
  waiting?: WaitSignal | undefined;
  /** The signal is written although one of its reason was. Default: false. */
  repeated?: boolean;
  /** Record of its candidate from now on, as in `Move`. Default: as before. */
  stage?: string;
  /** The call is made anew: what `keepTask` wrote is over. Default: false. */
  anew?: boolean;
}

/** `mostBytes`: what a request may hold. */
export function createClaimHolder(run: RunScript, keys: KeySpace, mostBytes: (requestId: string) => number) {
  /**
   * `move`: the next attempt is of another candidate. The process that moves a directive enqueues it in its new lane.
   */
  async function retry(
    ref: ClaimRef,
    delayMs: number,
    signals: readonly SignalDraft[],
    move?: Move,
  ): Promise<RetryVerdict> {
    const texts = signals.map((signal) => writeSignal(ref.requestId, signal));
    const args = [
      ref.id,
      ref.fence,
      delayMs,
      move?.stage ?? '',
      move?.lane ?? '',
      mostBytes(ref.requestId),
      ...texts,
    ];
    const reply = await run('retry', keys.request(ref.requestId), args);
    if (reply[0] === 'waiting') return { kind: 'waiting', nextAttemptAt: Number(reply[1]) };
    return { kind: reply[0] as 'cancelled' | 'ended' | 'stale' | 'unknown' };
  }

  async function release(
    ref: ClaimRef,
    pauseMs: number,
    {
      seen = false,
      waiting,
      reason = waiting?.data.reason ?? 'released',
      repeated = false,
      stage = '',
      anew = false,
    }: Release = {},
  ): Promise<'released' | 'cancelled' | 'ended' | 'stale' | 'unknown'> {
    const said = waiting ? writeSignal(ref.requestId, waiting) : '';
    const args = [
      ref.id,
      ref.fence,
      pauseMs,
      seen ? 1 : 0,
      reason,
      mostBytes(ref.requestId),
      said,
      anew ? 1 : 0,
      repeated ? 1 : 0,
      stage,
    ];
    const reply = await run('release', keys.request(ref.requestId), args);
    return reply[0] as 'released' | 'cancelled' | 'ended' | 'stale' | 'unknown';
  }

  /**
   * Reports the first attempt where the claim has not, and extends the lease; `signal` null: none is written. `now` of
   * the claim, and the answer: by the clock of Redis. null: the claim was taken over, or has run out, or the deadline
   * has passed. `cancelled`: before it began, and this claim still holds. `isUnbegun`: its call has not begun, though
   * its start may be written.
   */
  async function reportStart(
    { requestId, id, fence }: ClaimRef,
    granted: { readonly now: number; readonly deadlineAt: number },
    leaseMs: number,
    signal: SignalDraft | null,
    isUnbegun = false,
  ): Promise<number | 'cancelled' | null> {
    const text = signal ? writeSignal(requestId, signal) : '';
    const args = [id, fence, granted.now, leaseMs, text, granted.deadlineAt, isUnbegun ? 1 : 0];
    const [verdict, now] = await run('start', [...keys.request(requestId), keys.sweep], args);
    if (verdict === 'cancelled') return 'cancelled';
    return verdict === 'started' ? Number(now) : null;
  }

  /** `task`: what the other side has made of the call, opaque to the journal; the next claim gets it. */
  async function keepTask({ requestId, id, fence }: ClaimRef, task: string): Promise<'kept' | 'stale'> {
    const [verdict] = await run('task-keep', keys.request(requestId), [id, fence, task]);
    return verdict as 'kept' | 'stale';
  }

  /** Drops the task of a directive that has ended: it has been cancelled at its server. */
  async function dropTask(requestId: string, id: string, task: string): Promise<void> {
    await run('task-drop', keys.request(requestId), [id, task]);
  }

  const { extendClaim: extend } = createLeases(run, keys);
  return { retry, release, reportStart, extend, keepTask, dropTask };
}
