// The engine: takes the turns of runs as their jobs come, one turn at a time for each run.
// Must never keep state that a run needs after its turn: any engine may take the next one.
import { asError, settledWithin } from '../../platform/lifecycle.ts';
import { consumeLane, type ConsumeOptions, type JobOutcome } from '../../queue/consume.ts';
import type { JobData } from '../../queue/job.ts';
import { RUN_LANE } from '../../queue/run-wake.ts';
import { takeTurns, type TurnParts } from './turn.ts';

/** `concurrency`: turns at once in this process. */
export interface EngineOptions extends Omit<ConsumeOptions, 'lane' | 'handle' | 'claiming'> {
  turn: TurnParts;
  /** How long a stop waits for turns, milliseconds. */
  drainMs: number;
}

/** After a turn fails because Redis does not answer, it is tried again this much later. */
const RETRY_MS = 500;

export type Engine = ReturnType<typeof createEngine>;

export function createEngine({ turn, drainMs, ...consuming }: EngineOptions) {
  const { concurrency, onError } = consuming;
  const stopping = new AbortController();
  const turns = createRunTurns({ turn, isStopping: () => stopping.signal.aborted });

  function report(error: unknown): void {
    onError(asError(error));
  }

  async function handle({ request_id: requestId }: JobData): Promise<JobOutcome> {
    try {
      await turns.attend(requestId);
      return stopping.signal.aborted ? { kind: 'later', at: Date.now() } : { kind: 'done' };
    } catch (error) {
      report(error);
      return { kind: 'later', at: Date.now() + RETRY_MS };
    }
  }

  const consumer = consumeLane({ ...consuming, lane: RUN_LANE, handle });

  return {
    name: 'engine',
    /** Runs with a turn under way. */
    busyRuns: turns.size,
    lanes: () => [{ name: RUN_LANE, concurrency, running: turns.size() }],
    /** On request of an operator: takes no turns until it is taken back. Those under way go on. */
    setDraining(on: boolean): void {
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

/** One run in this process: its turns follow each other. */
interface Current {
  /** It was woken during a turn that may have read too early. */
  again: boolean;
  done: Promise<void>;
}

interface RunTurnsOptions {
  turn: TurnParts;
  /** From then on no further turn is taken, and a run that waits for one is woken elsewhere. */
  isStopping(): boolean;
}

function createRunTurns({ turn, isStopping }: RunTurnsOptions) {
  const current = new Map<string, Current>();

  /** Rejects with the error of the last turn. */
  async function turnsOf(requestId: string, run: Current): Promise<void> {
    try {
      while (run.again && !isStopping()) {
        run.again = false;
        await takeTurns(turn, requestId);
      }
      // A stop leaves no run behind that nothing would wake.
      if (run.again) await turn.waker.wake(requestId, 0);
    } finally {
      // In the same step as the last check of `again`, so that no wake is lost.
      current.delete(requestId);
    }
  }

  return {
    /** Takes the turns that are due; resolves when none is left, rejects when Redis does not answer. */
    attend(requestId: string): Promise<void> {
      const before = current.get(requestId);
      if (before) {
        before.again = true;
        return before.done;
      }
      const run: Current = { again: true, done: Promise.resolve() };
      current.set(requestId, run);
      run.done = turnsOf(requestId, run);
      return run.done;
    },
    /** Runs with a turn under way. */
    size: (): number => current.size,
    /** When those that are under way are done; rejects with the error of one. */
    done: (): Promise<unknown> => Promise.all([...current.values()].map(({ done }) => done)),
  };
}
