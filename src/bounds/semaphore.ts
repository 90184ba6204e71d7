/** Limits how many callers may do something at once; the rest wait in order of arrival.
 *  It must never give out more places than it has, nor keep a place for a caller that has stopped waiting. */

export interface Semaphore {
  hasRoom(): boolean;
  /** Takes a place if one is free. */
  tryTake(): boolean;
  /** true: a place was taken, perhaps after a wait. false: the signal fired first, and no place was taken. */
  take(signal?: AbortSignal): Promise<boolean>;
  /** Returns one place. */
  release(): void;
  /** From now on there is one place only; those that have one keep it. */
  narrow(): void;
  isNarrow(): boolean;
}

export function createSemaphore(places: number): Semaphore {
  let free = places;
  let all = places;
  let narrowed = false;
  const waiting = new Set<() => void>();

  function tryTake(): boolean {
    if (free <= 0) return false;
    free -= 1;
    return true;
  }

  return {
    hasRoom: () => free > 0,
    tryTake,
    take(signal) {
      if (signal?.aborted === true) return Promise.resolve(false);
      return tryTake() ? Promise.resolve(true) : waitIn(waiting, signal);
    },
    release() {
      // The place is handed over, so that no later caller can take it first.
      const [next] = waiting;
      if (next === undefined || free < 0) free += 1;
      else next();
    },
    narrow() {
      free -= all - 1;
      all = 1;
      narrowed = true;
    },
    isNarrow: () => narrowed,
  };
}

/** Waits in line until its turn comes, or the signal fires. */
function waitIn(line: Set<() => void>, signal: AbortSignal | undefined): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const leaveWith = (taken: boolean): void => {
    line.delete(enter);
    signal?.removeEventListener('abort', giveUp);
    resolve(taken);
  };
  const enter = (): void => leaveWith(true);
  const giveUp = (): void => leaveWith(false);
  line.add(enter);
  signal?.addEventListener('abort', giveUp, { once: true });
  return promise;
}
