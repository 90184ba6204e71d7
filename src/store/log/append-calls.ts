// Sends the appends of attempts as calls of one script, each for all attempts that append at about the same time: a
// call for each delta would cost Redis, the worker and the followers more than the delta. Never delays the first or the
// last text of an attempt, nor a single append.
import { replyError } from '../../platform/redis/error.ts';
import type { RunScript } from '../scripts.ts';

export interface Append {
  /** State and log of the request. */
  readonly keys: readonly [state: string, log: string];
  /** As append.lua reads them: what comes before the signals, and these. */
  readonly head: readonly (string | number)[];
  readonly texts: readonly string[];
}

export type AppendVerdict = 'appended' | 'stale' | 'no_room';

export interface AppendCalls {
  /** `soon`: it waits for no other one. */
  append(what: Append, soon: boolean): Promise<AppendVerdict>;
  /** Nothing of what was appended so far waits any longer. */
  hurry(): void;
}

export interface AppendCallsOptions {
  readonly run: RunScript;
  /** All keys are on one Redis. */
  readonly together: boolean;
  /** Milliseconds on a clock that only goes forward. Default: that of the process. */
  readonly now?: () => number;
  /** Calls once, so many milliseconds later; returns how to prevent it. Default: a timer. */
  readonly later?: (ms: number, call: () => void) => () => void;
}

/** So many a millisecond are worth a wait for each other: fewer would share a call with one or two. */
const MANY_PER_MS = 1;
/** How long one waits for others. */
const HOLD_MS = 5;
/** Over which the appends are counted. */
const COUNTED_MS = 32;
/** Maximum number of appends in one call: Redis is blocked meanwhile, for about a millisecond. */
const MOST_APPENDS = 64;
/** Characters of the signals of one call. */
const MOST_CHARACTERS = 64 * 1_024;

interface Waiting extends PromiseWithResolvers<AppendVerdict> {
  readonly what: Append;
}

export function createAppendCalls({
  run,
  together,
  now = () => performance.now(),
  later = byTimer,
}: AppendCallsOptions): AppendCalls {
  const areMany = createRate(now);
  let waiting: Waiting[] = [];
  let characters = 0;
  /** How to prevent the next call; undefined: it goes within this turn of the event loop, or there is none. */
  let hold: (() => void) | undefined;

  function send(): void {
    hold?.();
    hold = undefined;
    const batch = waiting;
    waiting = [];
    characters = 0;
    if (batch.length > 0) void sendBatch(run, batch);
  }

  function hurry(): void {
    // @guard append-end
    if (hold === undefined) return;
    hold();
    hold = undefined;
    setImmediate(send);
  }

  function schedule(waits: boolean): void {
    if (waiting.length > 1) return waits ? undefined : hurry();
    if (waits) hold = later(HOLD_MS, send);
    else setImmediate(send);
  }

  return {
    hurry,
    append(what, soon) {
      const more = lengthOf(what.texts);
      const isFull = waiting.length >= (together ? MOST_APPENDS : 1) || characters + more > MOST_CHARACTERS;
      // @guard append-bound
      if (isFull) send();
      const one: Waiting = { what, ...Promise.withResolvers<AppendVerdict>() };
      waiting.push(one);
      characters += more;
      // @guard append-soon
      schedule(areMany() && together && !soon);
      return one.promise;
    },
  };
}

/** Counts a call; whether as many come as are worth a wait. */
function createRate(now: () => number): () => boolean {
  let since = now();
  let count = 0;
  let areMany = false;
  return () => {
    count += 1;
    const elapsedMs = now() - since;
    if (elapsedMs < COUNTED_MS) return areMany;
    areMany = count >= elapsedMs * MANY_PER_MS;
    since += elapsedMs;
    count = 0;
    return areMany;
  };
}

async function sendBatch(run: RunScript, batch: readonly Waiting[]): Promise<void> {
  const keys = batch.flatMap(({ what }) => what.keys);
  const args = batch.flatMap(({ what: { head, texts } }) => [...head, texts.length, ...texts]);
  try {
    deliver(batch, await run('append', keys, args));
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

function deliver(batch: readonly Waiting[], verdicts: readonly (string | number)[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const verdict = verdicts[index] ?? '-ERR no verdict came for it';
    if (typeof verdict === 'number') resolve('appended');
    else if (verdict.startsWith('-')) reject(replyError(verdict.slice(1)));
    else resolve(verdict as AppendVerdict);
  }
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

function byTimer(ms: number, call: () => void): () => void {
  const timer = setTimeout(call, ms);
  return () => clearTimeout(timer);
}
