// The runs of which a turn is under way in this process: the turns of each follow each other, and no more runs than there is room for.
// Must never lose a wake that comes while a turn of its run is under way: that may have read too early.
import { createSemaphore } from '../bounds/semaphore.ts';
import type { ComingEnd, EndedWithTurn, RunNews } from '../journal/journal.ts';
import { endWithTurn } from './end-with-turn.ts';
import { takeTurns, type TurnParts } from './turn.ts';

/** Everything that a run at this version has to read. */
interface KnownVersion {
  version: number;
  news: RunNews;
}

/** One run in this process: its turns follow each other. */
interface Current {
  /** It was woken during a turn that may have read too early. */
  again: boolean;
  /** All that the next turn has to read, where that is known. */
  news: KnownVersion | undefined;
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

  /** Rejects with the error of the last turn. `first`: a turn that has its place already. */
  async function turnsOf(requestId: string, run: Current, first?: Promise<unknown>): Promise<void> {
    if (first === undefined) await places.take();
    try {
      await first;
      while (run.again && !isStopping()) {
        const { news } = run;
        Object.assign(run, { again: false, news: undefined });
        const known = news ? turn.store.withNews(requestId, news.version, news.news) : null;
        await takeTurns(turn, requestId, known);
      }
      // A stop leaves no run behind that nobody would wake.
      if (run.again) await turn.waker.wake(requestId, 0);
    } finally {
      // In the same step as the last check of `again`, so that no wake is lost.
      current.delete(requestId);
      places.release();
    }
  }

  /** Takes the turns that are due; resolves when none is left, rejects when Redis does not answer. */
  function attend(requestId: string, news?: KnownVersion): Promise<void> {
    const known = current.get(requestId);
    if (known) {
      // Two of them together are not all of it.
      known.news = known.again ? undefined : news;
      known.again = true;
      return known.done;
    }
    const run: Current = { again: true, news, done: Promise.resolve() };
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
    const run: Current = { again: false, news: undefined, done: Promise.resolve() };
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
