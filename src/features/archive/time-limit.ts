// Bounds how long work at the archive is waited for: a folder on a server that is gone answers neither with success nor with an error.
// Must never begin more while what was given up hangs still: each holds a thread of this process.
export type TimeLimit = <T>(
  what: string,
  work: (limit: AbortSignal, moved: Moved) => Promise<T>,
) => Promise<T>;

/** Restarts the limit, extended by this time, milliseconds. */
export type Moved = (longerMs: number) => void;

/** Node has four threads for files, and needs some for names of hosts and compression. */
const MOST_HANGING = 2;

/** `what`: names the place in the error. Abandoned work is aborted by its signal, and continues if it ignores it. */
export function createTimeLimit(limitMs: number): TimeLimit {
  let hanging = 0;
  return async (what, work) => {
    if (hanging >= MOST_HANGING)
      throw new Error(`${what} is not tried: ${hanging} calls before it have had no answer yet`);
    const limit = new AbortController();
    let isGivenUp = false;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const giveUp = (afterMs: number): void => {
      isGivenUp = true;
      hanging += 1;
      const error = new Error(`${what} has had no answer for ${Math.round(afterMs / 100) / 10} s`);
      reject(error);
      limit.abort(error);
    };
    let timer = setTimeout(giveUp, limitMs, limitMs);
    const moved: Moved = (longerMs) => {
      if (isGivenUp) return;
      clearTimeout(timer);
      timer = setTimeout(giveUp, limitMs + longerMs, limitMs + longerMs);
    };
    const working = work(limit.signal, moved).finally(() => {
      clearTimeout(timer);
      if (isGivenUp) hanging -= 1;
    });
    return Promise.race([late, working]);
  };
}
