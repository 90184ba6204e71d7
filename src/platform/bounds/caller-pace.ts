/** A rate for what each caller asks for: above it a caller waits for itself, and others do not.
 *  It must never refuse: who calls it decides which wait is too long. */

export interface CallerPace {
  /** How long the next one of the caller waits, milliseconds. */
  waitMs(caller: string): number;
  /** Counts what is, or was, done for the caller. */
  charge(caller: string, amount: number): void;
}

interface PaceBounds {
  /** Requests that a caller may make at once. */
  readonly burst: number;
  readonly perMs: number;
}

/** Callers whose pace is remembered before those that are due again are forgotten. */
const MOST_PACED = 1_000;

/** `now`: milliseconds of a clock that is never set. */
export function createCallerPace(
  { burst, perMs }: PaceBounds,
  now: () => number = () => performance.now(),
): CallerPace {
  /** When what the callers asked for so far has had its time. */
  const doneAt = new Map<string, number>();

  return {
    waitMs: (caller) => Math.max(0, (doneAt.get(caller) ?? -Infinity) - now()),
    charge(caller, amount) {
      const at = now();
      if (doneAt.size >= MOST_PACED) for (const [name, done] of doneAt) if (done < at) doneAt.delete(name);
      const before = Math.max(doneAt.get(caller) ?? -Infinity, at - burst / perMs);
      doneAt.set(caller, before + amount / perMs);
    },
  };
}
