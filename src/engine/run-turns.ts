// The runs of which a turn is under way in this process: the turns of each follow each other.
// Must never lose a wake that comes while a turn of its run is under way: that may have read too early.
import { takeTurns, type TurnParts } from './turn.ts';

/** One run in this process: its turns follow each other. */
interface Current {
  /** It was woken during a turn that may have read too early. */
  again: boolean;
  done: Promise<void>;
}

export interface RunTurnsOptions {
  turn: TurnParts;
  /** From then on no further turn is taken, and a run that waits for one is woken elsewhere. */
  isStopping(): boolean;
}

export function createRunTurns({ turn, isStopping }: RunTurnsOptions) {
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
