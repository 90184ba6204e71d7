// The engine: takes the turns of runs as they are woken, one turn at a time for each run.
// Must never keep state that a run needs after its turn: any engine may take the next one.
import type { EndWithTurn, RunNews } from '../journal/journal.ts';
import { asError, settledWithin } from '../lifecycle.ts';
import { consumeLane, type JobOutcome } from '../queue/consume.ts';
import { RUN_LANE } from '../queue/run-wake.ts';
import { createRunTurns } from './run-turns.ts';
import type { TurnParts } from './turn.ts';

export interface EngineOptions {
  turn: TurnParts;
  connection: Parameters<typeof consumeLane>[0]['connection'];
  prefix: string;
  /** Turns at once in this process. */
  concurrency: number;
  /** How long a stop waits for turns, milliseconds. */
  drainMs: number;
  /** BullMQ's lock on a job and how often it checks for dead workers, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
  onError(error: Error): void;
}

/** After a turn fails because Redis does not answer, it is tried again this much later. */
const RETRY_MS = 500;

export type Engine = ReturnType<typeof createEngine>;

export function createEngine(options: EngineOptions) {
  const { turn, drainMs, ...consuming } = options;
  const { concurrency, onError } = consuming;
  const stopping = new AbortController();
  let draining = false;
  const isAway = (): boolean => stopping.signal.aborted || draining;
  const turns = createRunTurns({ turn, concurrency, isStopping: () => stopping.signal.aborted, report });

  /** Like `attend`, for callers that cannot handle a failure: the sweeper enqueues the run again. */
  async function wake(requestId: string, version: number, news?: RunNews): Promise<void> {
    const known = news && { version, news };
    const woken = isAway() ? turn.waker.wake(requestId, version) : turns.attend(requestId, known);
    await woken.catch(report);
  }

  function report(error: unknown): void {
    onError(asError(error));
  }

  async function handle(requestId: string): Promise<JobOutcome> {
    try {
      await turns.attend(requestId);
      return stopping.signal.aborted ? { kind: 'later', at: Date.now() } : { kind: 'done' };
    } catch (error) {
      report(error);
      return { kind: 'later', at: Date.now() + RETRY_MS };
    }
  }

  const consumer = consumeLane({ ...consuming, lane: RUN_LANE, handle: (job) => handle(job.request_id) });

  return {
    name: 'engine',
    wake,
    takeEnd: async (...end: Parameters<EndWithTurn>) => (isAway() ? null : turns.takeEnd(...end)),
    holds: turn.store.holds,
    /** Whether a turn of the run need not wait for those of other runs here. */
    hasPlaceFor: (requestId: string): boolean => turns.has(requestId) || turns.size() < concurrency,
    /** Runs with a turn under way. */
    busyRuns: turns.size,
    lanes: () => [{ name: RUN_LANE, concurrency, running: turns.size() }],
    /** On request of an operator: takes no turns until it is taken back. Those under way go on. */
    setDraining(on: boolean): void {
      draining = on;
      if (on) consumer.pause().catch(report);
      else consumer.resume();
    },
    start: () => consumer.start(),
    async stop(): Promise<void> {
      stopping.abort();
      const ended = Promise.all([consumer.stop(), turns.done()]);
      await settledWithin(ended, drainMs);
    },
  };
}
