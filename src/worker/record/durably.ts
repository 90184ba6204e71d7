// Writes that an attempt relies on: repeated until Redis has them as durably as configured, or the worker has given up.
// Must never be used for a write that is not safe to repeat.
import type { Confirm } from '../../queue/durability.ts';
import type { RunningAttempts } from '../attempt/running-attempts.ts';
import { pause } from '../../platform/lifecycle.ts';

export interface DurableWriting {
  running: RunningAttempts;
  /** Begun before each write; null = Redis' own durability. */
  confirm: () => Promise<Confirm | null>;
}

/**
 * A claim that a failover loses would be granted again, and the call made twice; an outcome that it loses is written
 * again where the directive goes on.
 */
export function durably<T>({ running, confirm }: DurableWriting, write: () => Promise<T>): Promise<T> {
  return persistently(async () => {
    const confirmed = await confirm();
    const written = await write();
    await confirmed?.();
    return written;
  }, running.givenUp);
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * The connection itself waits for the end of connection losses; a refused call (LOADING, READONLY, OOM) is repeated
 * here. `givenUp` ends it with the signal's reason: a worker that must stop cannot wait for Redis for ever.
 */
export async function persistently<T>(call: () => Promise<T>, givenUp?: AbortSignal): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await answerTo(call, givenUp);
    } catch (error) {
      if (givenUp?.aborted || isProgrammingError(error)) throw error;
      await pause(pauseMs, givenUp);
    }
  }
}

/** A connection that waits for Redis keeps its commands for ever; `givenUp` ends the wait, not the command. */
async function answerTo<T>(call: () => Promise<T>, givenUp: AbortSignal | undefined): Promise<T> {
  if (givenUp === undefined) return call();
  givenUp.throwIfAborted();
  const waiters = waitersOn(givenUp);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  waiters.add(reject);
  call().then(resolve, reject);
  try {
    return await promise;
  } finally {
    waiters.delete(reject);
  }
}

type GiveUp = (reason: unknown) => void;

const waiting = new WeakMap<AbortSignal, Set<GiveUp>>();

/** One listener for all that wait: a signal searches all of its listeners for each that is added or removed. */
function waitersOn(signal: AbortSignal): Set<GiveUp> {
  const known = waiting.get(signal);
  if (known) return known;
  const waiters = new Set<GiveUp>();
  waiting.set(signal, waiters);
  signal.addEventListener('abort', () => waiters.forEach((giveUp) => giveUp(signal.reason)), { once: true });
  return waiters;
}

/** Errors that asking again cannot mend. */
export function isProgrammingError(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  const message = error instanceof Error ? error.message : '';
  return /^(ERR|WRONGTYPE|NOPERM|NOAUTH|CROSSSLOT)/.test(message) && !message.includes('DISABLE_SCRIPTS');
}
