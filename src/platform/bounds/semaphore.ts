/** Limits how many callers may do something at once; the rest wait in order of arrival.
 *  It must never give out more places than it has, nor keep a place for a caller that has stopped waiting. */

export interface Semaphore {
  hasRoom(): boolean;
  /** Number of free places without a waiter. */
  free(): number;
  /** Whether a caller waits for a place. */
  isAwaited(): boolean;
  /** Takes a place if one is free. */
  tryTake(): boolean;
  /** true: a place was taken, perhaps after a wait. false: the signal fired first, and no place was taken. */
  take(signal?: AbortSignal): Promise<boolean>;
  /** Returns one place. `isAside`: one that was set aside. */
  release(isAside?: boolean): void;
  /** From now on there is one place only, besides those set aside; those that have one keep it. */
  narrow(): void;
  isNarrow(): boolean;
  /** Keeps the place of its holder, but lets others pass where there is one place only. */
  setAside(): void;
}

export function createSemaphore(places: number): Semaphore {
  let taken = 0;
  let aside = 0;
  let narrowed = false;
  const waiting = new Set<() => void>();
  const hasRoom = (): boolean => taken < places && (!narrowed || taken === aside);

  function tryTake(): boolean {
    if (!hasRoom()) return false;
    taken += 1;
    return true;
  }

  /** A place is handed over, so that no later caller can take it first. */
  function handOver(): void {
    for (const next of waiting) {
      if (!tryTake()) return;
      next();
    }
  }

  return {
    hasRoom,
    free: () => (!hasRoom() || waiting.size > 0 ? 0 : narrowed ? 1 : places - taken),
    isAwaited: () => waiting.size > 0,
    tryTake,
    take(signal) {
      if (signal?.aborted === true) return Promise.resolve(false);
      return tryTake() ? Promise.resolve(true) : waitIn(waiting, signal);
    },
    release(isAside = false) {
      taken -= 1;
      if (isAside) aside -= 1;
      handOver();
    },
    narrow: () => void (narrowed = true),
    isNarrow: () => narrowed,
    setAside() {
      aside += 1;
      handOver();
    },
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
