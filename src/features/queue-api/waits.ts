// The jobs of this process whose work is under way, each until its work has ended, the process stops, or others need its slot.
// Holds one entry for each job: a wait is a callback, never a thread.

/** Why a wait ended before the work did. `parked`: other jobs wait for a slot. */
export type Interruption = 'parked' | 'stopped';

export interface Waits {
  /** Resolves with the result of `work`, or the reason of its abort. `work` gets an abort signal. */
  until<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | Interruption>;
  /** Gives up the waits that have lasted longest, at most `count`, of those that have lasted `leastMs`. */
  park(count: number, leastMs: number): void;
  /** Gives up all, now and later. */
  stop(): void;
}

export function createWaits(now: () => number = () => performance.now()): Waits {
  const open = new Map<AbortController, number>();
  let isStopped = false;

  return {
    async until(work) {
      if (isStopped) return 'stopped';
      const controller = new AbortController();
      open.set(controller, now());
      try {
        return await work(controller.signal);
      } catch (error) {
        if (!controller.signal.aborted) throw error;
        return controller.signal.reason as Interruption;
      } finally {
        open.delete(controller);
      }
    },
    park(count, leastMs) {
      const before = now() - leastMs;
      // In the order of their beginning.
      for (const [controller, since] of [...open].slice(0, count))
        if (since <= before) controller.abort('parked' satisfies Interruption);
    },
    stop() {
      isStopped = true;
      for (const controller of open.keys()) controller.abort('stopped' satisfies Interruption);
    },
  };
}
