// Wakes runs: an engine takes a turn because the run has something to read, or because its time has come.
// Must never decide whether a turn is taken; the journal knows.
import type { EndWithTurn, RunNews } from '../journal/journal.ts';
import type { JobData } from './job.ts';
import type { LaneFreedom } from './lane-freedom.ts';
import type { Lanes } from './lanes.ts';
import type { LocalEngine } from './local-roles.ts';

export const RUN_LANE = 'run';
/** Stands for the run among the directives of a request; no identifier begins so. */
export const RUN_ENTRY = '@run';

/** Nearer instants get a delayed job of their own; the sweeper, which looks at least this often, sees to the others. */
export const WAKE_AHEAD_MS = 61_000;

export type RunWaker = ReturnType<typeof createRunWaker>;

/** Wakes a run of which `version` is known, and perhaps all that it has to read; never rejects. */
export type WakeRun = (requestId: string, version: number, news?: RunNews) => Promise<void>;

/** One job for each version: what came since the turn of that version waits for one look, however often it is enqueued. */
export function wakeJob(requestId: string, version: number): JobData {
  return { request_id: requestId, id: `${RUN_ENTRY}/${version}`, digest: '', type: 'run', version };
}

/** The version that a job of `wakeJob` was made for. */
export function versionOf({ id }: JobData): number {
  return Number(id.slice(RUN_ENTRY.length + 1)) || 0;
}

function jobAt(requestId: string, at: number): JobData {
  return { request_id: requestId, id: `${RUN_ENTRY}/at/${at}`, digest: '', type: 'run' };
}

export function createRunWaker(lanes: Lanes) {
  return {
    /** By a job: any engine may take it. */
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

/** By the engine of this process if it has the run at hand, where nobody has paused or limited the lane of runs. */
export function endsWithTurns(engine: () => LocalEngine | null, isFree: LaneFreedom): EndWithTurn {
  return async (requestId, end) => {
    const local = engine();
    if (!local?.takeEnd || !local.holds?.(requestId)) return null;
    return (await isFree(RUN_LANE)) ? local.takeEnd(requestId, end) : null;
  };
}

/**
 * By the engine of this process if it has one, else by a job; one that cannot be enqueued is enqueued by the sweeper.
 * `waits`: for the turns that follow, so that a worker takes no more work than the engine keeps up with, and its stop leaves
 * no turn behind. A turn itself must not wait: two turns that wake each other's run would wait for ever. Where somebody has
 * paused or limited the lane of runs, it is a job all the same.
 */
export function wakeRuns(
  waker: RunWaker,
  engine: () => LocalEngine | null,
  { waits, isFree }: { waits: boolean; isFree: LaneFreedom },
): WakeRun {
  return async (requestId, version, news) => {
    const local = engine();
    if (local === null || !(await isFree(RUN_LANE))) return waker.wake(requestId, version).catch(() => {});
    const turns = local.wake(requestId, version, news);
    if (waits) await turns;
  };
}
