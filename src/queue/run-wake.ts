// Rings for runs: the lane on which engines hear that a run has something to read, or that its time has come.
// Must never decide whether a turn is taken; the journal knows.
import type { RunNews } from '../journal/journal.ts';
import type { JobData } from './job.ts';
import type { Lanes } from './lanes.ts';

export const RUN_LANE = 'run';
/** Stands for the run among the directives of a request; no identifier begins so. */
export const RUN_ENTRY = '@run';

/** Nearer instants get a delayed job of their own; the sweeper, which looks at least this often, sees to the others. */
export const WAKE_AHEAD_MS = 61_000;

export type RunWaker = ReturnType<typeof createRunWaker>;

/** Wakes a run of which `version` is known, and perhaps all that it has to read; never rejects. */
export type WakeRun = (requestId: string, version: number, news?: RunNews) => Promise<void>;

function wakeJob(requestId: string, occasion: string | number): JobData {
  return { request_id: requestId, id: `${RUN_ENTRY}/${occasion}`, digest: '' };
}

export function createRunWaker(lanes: Lanes) {
  return {
    /** One job for each version: what came since the turn of that version waits for one look, however often it is rung. */
    wake: (requestId: string, version: number): Promise<void> =>
      lanes.enqueue(RUN_LANE, wakeJob(requestId, version)),
    /** Rings at an instant, milliseconds since the epoch. */
    wakeAt: (requestId: string, at: number): Promise<void> =>
      lanes.enqueue(RUN_LANE, wakeJob(requestId, `at/${at}`), Math.max(at - Date.now(), 0)),
    /** Takes back `ringAt`. */
    removeWakeAt: (requestId: string, at: number): Promise<void> =>
      lanes.removeJob(RUN_LANE, requestId, `${RUN_ENTRY}/at/${at}`),
  };
}

/** Wakes by ringing; a ring that fails is repeated by the sweeper. */
export function wakeByJob(bell: RunWaker): WakeRun {
  return (requestId, version) => bell.wake(requestId, version).catch(() => {});
}
