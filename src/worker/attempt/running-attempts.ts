// The attempts that this process is making, so that each can be aborted. Never forgets the first reason of an abort,
// nor a cancellation that arrives before the attempt begins.
import type { StopReason } from './outcome.ts';
import type { ClaimRef } from '../../store/refs.ts';

export interface AttemptHandle {
  signal: AbortSignal;
  stop(reason: StopReason): void;
  stopReason(): StopReason | null;
  end(): void;
}

export type RunningAttempts = ReturnType<typeof createRunningAttempts>;

/** A claim may be on its way to this process while it is cancelled. */
const REMEMBERED_MS = 10_000;
/** Cancellations of every worker's directives are heard. */
const MOST_REMEMBERED = 4_096;

export function createRunningAttempts() {
  const handles = new Map<string, AttemptHandle>();
  const cancelled = createRecentIds(REMEMBERED_MS, MOST_REMEMBERED);
  const recording = new AbortController();
  const givenUp: AbortSignal = recording.signal;
  const drain = new AbortController();
  let stoppedForGood: StopReason | null = null;

  function begin({ requestId, id }: ClaimRef): AttemptHandle {
    const key = `${requestId}/${id}`;
    const controller = new AbortController();
    let reason: StopReason | null = null;
    const handle: AttemptHandle = {
      signal: controller.signal,
      stop(why) {
        reason ??= why;
        controller.abort(new Error(reason));
      },
      stopReason: () => reason,
      end() {
        if (handles.get(key) === handle) handles.delete(key);
      },
    };
    handles.set(key, handle);
    if (cancelled.has(key)) handle.stop('cancelled');
    if (stoppedForGood) handle.stop(stoppedForGood);
    return handle;
  }

  return {
    begin,
    /** Stops the attempt of one directive, if this process makes it, or begins it a moment later. Whether it makes it. */
    stop(requestId: string, id: string, reason: StopReason): boolean {
      const key = `${requestId}/${id}`;
      const handle = handles.get(key);
      if (handle === undefined && reason === 'cancelled') cancelled.add(key);
      handle?.stop(reason);
      return handle !== undefined;
    },
    /** Stops every attempt, also those that begin from now on: a job may still have been on its way here. */
    stopAll(reason: StopReason): void {
      stoppedForGood ??= reason;
      for (const handle of handles.values()) handle.stop(reason);
    },
    /** From now on nothing waits for Redis any more: what could not be recorded is left to the next worker. */
    giveUp(): void {
      recording.abort(new Error('Redis did not answer before the worker was stopped'));
    },
    givenUp,
    /** The worker takes nothing more, and ends when what runs has ended. */
    beginDrain(): void {
      drain.abort(new Error('the worker is stopping'));
    },
    draining: drain.signal as AbortSignal,
    isStopped: (): boolean => stoppedForGood !== null,
    count: (): number => handles.size,
  };
}

/** Ids without a timer for each. `forMs`: how long each is known. `most`: the oldest of more are forgotten. */
function createRecentIds(forMs: number, most: number) {
  // The oldest come first.
  const instants = new Map<string, number>();
  return {
    add(id: string): void {
      const now = performance.now();
      instants.delete(id);
      instants.set(id, now);
      for (const [oldest, at] of instants) {
        if (instants.size <= most && now - at <= forMs) break;
        instants.delete(oldest);
      }
    },
    has(id: string): boolean {
      const at = instants.get(id);
      return at !== undefined && performance.now() - at <= forMs;
    },
  };
}
