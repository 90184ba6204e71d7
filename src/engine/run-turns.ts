// The runs of which a turn is under way in this process: the turns of each follow each other, and no more runs than there is room for.
// Must never lose a wake that comes while a turn of its run is under way: that may have read too early.
import { setImmediate as nextLoop } from 'node:timers/promises';
import { createSemaphore } from '../bounds/semaphore.ts';
import type { ComingEnd, EndedWithTurn, RunNews } from '../journal/journal.ts';
import type { RunReading } from '../journal/run-journal.ts';
import { endWithTurn } from './end-with-turn.ts';
import type { StoredRun } from './run-store.ts';
import { takeTurns, type TurnParts } from './turn.ts';

/** Everything that a run has to read: at this version, or as it was read. */
export type Known =
  | { version: number; news: RunNews }
  /** `readAt`: not before, by the process' monotonic clock, milliseconds. */
  | { reading: RunReading; readAt: number };

/** The clock of Redis is part of a reading: what has waited longer for its turn is read again. */
const MOST_WAIT_MS = 1_000;

/** One run in this process: its turns follow each other. */
interface Current {
  /** It was woken during a turn that may have read too early. */
  again: boolean;
  /** All that the next turn has to read, where that is known. */
  known: Known | undefined;
  done: Promise<void>;
}

export interface RunTurnsOptions {
  turn: TurnParts;
  /** Turns at once. */
  concurrency: number;
  /** From then on no further turn is taken, and who waits for one is woken elsewhere. */
  isStopping(): boolean;
  report(error: unknown): void;
}

export function createRunTurns({ turn, concurrency, isStopping, report }: RunTurnsOptions) {
  const current = new Map<string, Current>();
  const places = createSemaphore(concurrency);
  /** Resolves in the loop in which the next run may begin that came with what it reads. */
  let nextMayBegin: Promise<unknown> = Promise.resolve();

  /** Rejects with the error of the last turn. `first`: a turn that has its place already. */
  async function turnsOf(requestId: string, run: Current, first?: Promise<unknown>): Promise<void> {
    if (first === undefined) await places.take();
    try {
      await first;
      while (run.again && !isStopping()) {
        const { known } = run;
        Object.assign(run, { again: false, known: undefined });
        await takeTurns(turn, requestId, known ? await knownRun(requestId, known) : null);
      }
      // A stop leaves no run behind that nobody would wake.
      if (run.again) await turn.waker.wake(requestId, 0);
    } finally {
      // In the same step as the last check of `again`, so that no wake is lost.
      current.delete(requestId);
      places.release();
    }
  }

  /** null: it is to be read. */
  async function knownRun(requestId: string, known: Known): Promise<StoredRun | null> {
    if ('news' in known) return turn.store.withNews(requestId, known.version, known.news);
    await inOwnLoop();
    return performance.now() - known.readAt < MOST_WAIT_MS
      ? turn.store.opened(requestId, known.reading)
      : null;
  }

  /** Runs that came in one answer wait for nothing in between: their work would be one long piece. The first begins at once. */
  function inOwnLoop(): Promise<unknown> {
    const mayBegin = nextMayBegin;
    nextMayBegin = mayBegin.then(() => nextLoop());
    return mayBegin;
  }

  /** Takes the turns that are due; resolves when none is left, rejects when Redis does not answer. */
  function attend(requestId: string, known?: Known): Promise<void> {
    const before = current.get(requestId);
    if (before) {
      // Two of them together are not all of it, and a turn that is under way makes a reading old.
      before.known = before.again || (known && 'reading' in known) ? undefined : known;
      before.again = true;
      return before.done;
    }
    const run: Current = { again: true, known, done: Promise.resolve() };
    current.set(requestId, run);
    run.done = turnsOf(requestId, run);
    return run.done;
  }

  /**
   * Writes an end together with the turn that reads it, and takes the turns that follow; null: nothing is written. Rejects where
   * Redis may have written it and not answered.
   */
  async function takeEnd(requestId: string, end: ComingEnd): Promise<EndedWithTurn | null> {
    if (current.has(requestId) || !turn.store.holds(requestId) || !places.tryTake()) return null;
    const run: Current = { again: false, known: undefined, done: Promise.resolve() };
    current.set(requestId, run);
    const taking = endWithTurn(turn, requestId, end).then((taken) => {
      run.again ||= taken?.again === true;
      return taken;
    });
    run.done = turnsOf(requestId, run, taking);
    // Who woke it meanwhile, and whoever takes this end, are told.
    run.done.catch(() => {});
    const taken = await taking;
    await run.done.catch(report);
    return taken && taken.ended;
  }

  return {
    attend,
    takeEnd,
    has: (requestId: string): boolean => current.has(requestId),
    /** Runs with a turn under way. */
    size: (): number => current.size,
    /** When those that are under way are done; rejects with the error of one. */
    done: (): Promise<unknown> => Promise.all([...current.values()].map(({ done }) => done)),
  };
}
