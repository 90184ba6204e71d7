/** How many calls may be on one server's wire at once; the rest wait in order of arrival.
 *  It must never keep a place for a call that has ended while it waited. */

export interface CallSlots {
  /** true: a place was taken at once. false: `wait` for one. */
  tryTake(): boolean;
  /** false: the signal fired first, and no place was taken. */
  wait(signal: AbortSignal): Promise<boolean>;
  release(): void;
}

export function createCallSlots(size: number): CallSlots {
  let free = size;
  const waiting = new Set<() => void>();
  return {
    tryTake() {
      if (free === 0) return false;
      free -= 1;
      return true;
    },
    wait: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve(false);
        const end = (taken: boolean): void => {
          waiting.delete(take);
          signal.removeEventListener('abort', giveUp);
          resolve(taken);
        };
        const take = (): void => end(true);
        const giveUp = (): void => end(false);
        waiting.add(take);
        signal.addEventListener('abort', giveUp, { once: true });
      }),
    release() {
      // A place is handed over rather than freed, so that nobody who came later can take it first.
      const [next] = waiting;
      if (next === undefined) free += 1;
      else next();
    },
  };
}
