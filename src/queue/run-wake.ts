// Rings for runs: the lane on which engines hear that a run has something to read, or that its time has come.
// Must never decide whether a turn is taken; the journal knows.
import type { RunNews } from '../journal/journal.ts';
import type { Ring } from './job.ts';
import type { Lanes } from './lanes.ts';

export const RUN_LANE = 'run';
/** Stands for the run among the directives of a request; no identifier begins so. */
export const RUN_ENTRY = '@run';

/** Nearer instants get a delayed job of their own; the sweeper, which looks at least this often, sees to the others. */
export const RING_AHEAD_MS = 61_000;

export type RunBell = ReturnType<typeof createRunBell>;

/** Wakes a run of which `version` is known, and perhaps all that it has to read; never rejects. */
export type WakeRun = (requestId: string, version: number, news?: RunNews) => Promise<void>;

function ring(requestId: string, occasion: string | number): Ring {
  return { request_id: requestId, id: `${RUN_ENTRY}/${occasion}`, digest: '' };
}

export function createRunBell(lanes: Lanes) {
  return {
    /** One job for each version: what came since the turn of that version waits for one look, however often it is rung. */
    ring: (requestId: string, version: number): Promise<void> =>
      lanes.ring(RUN_LANE, ring(requestId, version)),
    /** Rings at an instant, milliseconds since the epoch. */
    ringAt: (requestId: string, at: number): Promise<void> =>
      lanes.ring(RUN_LANE, ring(requestId, `at/${at}`), Math.max(at - Date.now(), 0)),
    /** Takes back `ringAt`. */
    silenceAt: (requestId: string, at: number): Promise<void> =>
      lanes.silence(RUN_LANE, requestId, `${RUN_ENTRY}/at/${at}`),
  };
}

/** Wakes by ringing; a ring that fails is repeated by the sweeper. */
export function ringForRuns(bell: RunBell): WakeRun {
  return (requestId, version) => bell.ring(requestId, version).catch(() => {});
}
