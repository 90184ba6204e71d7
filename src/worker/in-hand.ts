// The attempts that a worker has not recorded yet, counted for each lane.
// Must never lose count: a stop waits until nothing is in hand.

export function createInHand() {
  const counts = new Map<string, number>();
  let total = 0;
  const waiting: (() => void)[] = [];

  function add(lane: string, more: 1 | -1): void {
    total += more;
    counts.set(lane, (counts.get(lane) ?? 0) + more);
  }

  return {
    /** Counts while `work` goes on. */
    async during<T>(lane: string, work: () => Promise<T>): Promise<T> {
      add(lane, 1);
      try {
        return await work();
      } finally {
        add(lane, -1);
        if (total === 0) for (const resolve of waiting.splice(0)) resolve();
      }
    },
    total: (): number => total,
    in: (lane: string): number => counts.get(lane) ?? 0,
    /** Resolves as soon as nothing is left. */
    async none(): Promise<void> {
      if (total === 0) return;
      await new Promise<void>((resolve) => void waiting.push(resolve));
    },
  };
}
