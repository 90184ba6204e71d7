// The wait for a lane's marker, which goes on while BullMQ's worker does something else: what is handed over ends no command of Redis.
// Must never keep a marker that nobody waits for any more: it is another worker's then.
import type { RedisQueueBackend } from 'bullmq';

/** What was seen of the marker; null: nothing, in the time that was given. */
export type Seen = Awaited<ReturnType<RedisQueueBackend['waitForJob']>>;

/** `wait`: for so many seconds. `putBack`: for another worker; whoever waits looks every few seconds in any case. */
export function createMarkerWait(
  wait: (seconds: number) => Promise<Seen>,
  putBack: (marker: NonNullable<Seen>) => Promise<unknown>,
) {
  let waiting: { seen: Promise<Seen>; until: number } | undefined;
  let isAwaited = false;

  function begin(seconds: number): { seen: Promise<Seen>; until: number } {
    const seen = wait(seconds);
    const begun = { seen, until: performance.now() + seconds * 1_000 };
    const ended = (marker: Seen): void => {
      if (waiting === begun) waiting = undefined;
      // @guard offer-marker
      if (marker !== null && !isAwaited) putBack(marker).catch(() => {});
    };
    seen.then(ended, () => ended(null));
    return begun;
  }

  return {
    /** `handed`: ends the wait, and the next one goes on with the same command. Rejects as `wait`. */
    async seen(seconds: number, handed: Promise<void>): Promise<Seen | 'handed'> {
      isAwaited = true;
      const { seen, until } = (waiting ??= begin(seconds));
      let marker: Seen | undefined;
      const timer = Promise.withResolvers<null>();
      // It was begun when more time was left until something is due.
      const late = until - performance.now() - seconds * 1_000;
      const timeout = late > 1 ? setTimeout(() => timer.resolve(null), seconds * 1_000) : undefined;
      try {
        const noted = seen.then((found) => (marker = found));
        const first = await Promise.race([noted, timer.promise, handed.then(() => 'handed' as const)]);
        // Both may have come in one step.
        return marker ?? first;
      } finally {
        clearTimeout(timeout);
        isAwaited = false;
      }
    },
  };
}
