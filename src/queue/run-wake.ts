// Wakes runs: an engine takes a turn because the run has something to read, or because its time has come.
// Must never decide whether a turn is taken; the journal knows.
import type { JobData } from './job.ts';
import type { Lanes } from './lanes.ts';

export const RUN_LANE = 'run';
/** Represents the run among the directives of a request; no identifier begins so. */
export const RUN_ENTRY = '@run';

/**
 * Nearer instants get a delayed job of their own; the sweeper, which checks at least this often, continues the others.
 */
export const WAKE_AHEAD_MS = 61_000;

export type RunWaker = ReturnType<typeof createRunWaker>;

/** Wakes a run of which `version` is known; never rejects. */
export type WakeRun = (requestId: string, version: number) => Promise<void>;

/** One job for each version: signals since the turn of that version wait for one turn, however often it is enqueued. */
export function wakeJob(requestId: string, version: number): JobData {
  return { request_id: requestId, id: `${RUN_ENTRY}/${version}`, digest: '', type: 'run', version };
}

function jobAt(requestId: string, at: number): JobData {
  return { request_id: requestId, id: `${RUN_ENTRY}/at/${at}`, digest: '', type: 'run' };
}

export function createRunWaker(lanes: Lanes) {
  return {
    /** Wakes the run with a job: any engine may take it. */
    wake: (requestId: string, version: number): Promise<void> =>
      lanes.enqueue(RUN_LANE, wakeJob(requestId, version)),
    /** At an instant, milliseconds since the epoch. */
    wakeAt: (requestId: string, at: number): Promise<void> =>
      lanes.enqueue(RUN_LANE, jobAt(requestId, at), Math.max(at - Date.now(), 0)),
    /** Takes back `wakeAt`. */
    removeWakeAt: (requestId: string, at: number): Promise<void> =>
      lanes.removeJob(RUN_LANE, requestId, jobAt(requestId, at).id),
  };
}

/** Wakes runs with jobs; one that cannot be enqueued is enqueued by the sweeper. */
export function wakeRuns(waker: RunWaker): WakeRun {
  return (requestId, version) => waker.wake(requestId, version).catch(() => {});
}
