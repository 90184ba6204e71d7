// The attempts that a lane may have at once in one process, whoever asks for them.
// Must never let one more in than there are slots, nor leave one free while somebody waits.

export interface LaneSlots {
  hasRoom(): boolean;
  /** Takes a slot if one is free. */
  tryEnter(): boolean;
  /** Resolves with a slot taken, in the order of asking. */
  enter(): Promise<void>;
  release(): void;
}

export function createLaneSlots(concurrency: number): LaneSlots {
  const waiting: (() => void)[] = [];
  let free = concurrency;

  function tryEnter(): boolean {
    if (free === 0) return false;
    free -= 1;
    return true;
  }

  return {
    hasRoom: () => free > 0,
    tryEnter,
    async enter() {
      if (tryEnter()) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
    },
    release() {
      const next = waiting.shift();
      // The slot goes on to who waits without being free in between.
      if (next) next();
      else free += 1;
    },
  };
}
