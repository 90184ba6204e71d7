// A value out of Redis that is read again when it is old, and sooner when something was not found in it.
// Must never keep a caller waiting for a read when an older answer is at hand.

/** A read is trusted this long. */
const FRESH_MS = 1_000;
/** For what was not found it is read again, but not more often than this. */
const RECHECK_MS = 100;

export interface Recent<T> {
  /** Rejects only when nothing was ever read. */
  current(): Promise<T>;
  /** Reads again after something was not found. */
  recheck(): Promise<T>;
}

export function recent<T>(read: () => Promise<T>, now: () => number = Date.now): Recent<T> {
  let known: { value: T; readAt: number } | undefined;
  let reading: Promise<T> | undefined;

  async function readNow(): Promise<T> {
    const value = await read();
    known = { value, readAt: now() };
    return value;
  }

  function refresh(): Promise<T> {
    reading ??= readNow().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    async current() {
      if (!known) return refresh();
      if (now() - known.readAt > FRESH_MS) refresh().catch(() => {});
      return known.value;
    },
    async recheck() {
      return known && now() - known.readAt < RECHECK_MS ? known.value : refresh();
    },
  };
}
