/** How many may do something at once; the rest wait in the order in which they came.
 *  It must never let in more than it has places for, nor keep a place for somebody who has stopped waiting. */

export interface Semaphore {
  hasRoom(): boolean;
  /** Takes a place if one is free. */
  tryTake(): boolean;
  /** true: a place was taken, perhaps after a wait. false: the signal fired first, and no place was taken. */
  take(signal?: AbortSignal): Promise<boolean>;
  /** Gives one place back. */
  release(): void;
}

export function createSemaphore(places: number): Semaphore {
  let free = places;
  const waiting = new Set<() => void>();

  function tryTake(): boolean {
    if (free === 0) return false;
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
      // The place is handed over rather than freed, so that nobody who came later can take it first.
      const [next] = waiting;
      if (next === undefined) free += 1;
      else next();
    },
  };
}

/** Stands in the line until its own function in it is called, or the signal fires. */
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
