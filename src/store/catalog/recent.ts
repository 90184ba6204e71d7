// A value from Redis that is read again when it is old, and sooner after a failed lookup.
// Must never make a caller wait for a read when an older value is available.

/** A value is fresh this long. */
const FRESH_MS = 1_000;
/** After a failed lookup it is read again, but not more often than this. */
const RECHECK_MS = 100;

export interface Recent<T> {
  /** Rejects only when no read has ever succeeded. */
  current(): Promise<T>;
  /** Reads again after a failed lookup. */
  recheck(): Promise<T>;
}

export interface Renewable<T> extends Recent<T> {
  /** Reads again after a change of this process, not before it. */
  renew(): Promise<T>;
}

export function recent<T>(read: () => Promise<T>, now: () => number = Date.now): Renewable<T> {
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
    async renew() {
      await reading?.catch(() => {});
      return refresh();
    },
    async recheck() {
      return known && now() - known.readAt < RECHECK_MS ? known.value : refresh();
    },
  };
}

/** Names whose last value is kept. */
const MOST_KEPT = 1_000;

/** A value for each name, read when it is first asked for. */
export function recentByName<T>(read: (name: string) => Promise<T>): (name: string) => Recent<T> {
  const kept = new Map<string, Recent<T>>();
  return (name) => {
    const known = kept.get(name) ?? recent(() => read(name));
    kept.set(name, known);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value ?? '');
    return known;
  };
}
