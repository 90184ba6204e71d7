// Decides how long a directive waits before a call that met a limit is made again, and after how many waits that ends.
// Must never do I/O; the clock and chance are parameters.
import { SHORTEST_PAUSE_MS } from '../../contract/request/waiting.ts';

/** Pauses of a directive at its current model, or at its tool. */
export interface Pauses {
  /** All of them, also those for a configured limit, before which nothing was sent. */
  readonly count: number;
  /** Those after a call that the server or provider refused with "slow down". */
  readonly refused: number;
  /** Beginning of the first one of these, milliseconds since the epoch by the clock of Redis; null: none. */
  readonly sinceAt: number | null;
}

export const NO_PAUSES: Pauses = { count: 0, refused: 0, sinceAt: null };

/** As configured in `limits`. */
export interface PauseLimits {
  /** Longest single pause, milliseconds. */
  readonly longestMs: number;
  /** Most pauses of a directive at one model or tool after refused calls. */
  readonly count: number;
  /** Longest time from the first of these pauses to the end of the last one, milliseconds. */
  readonly totalMs: number;
}

/** A pause grows with each repetition from `firstMs` to `lastMs`, unless a longer one is asked for. */
interface Growth {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** After a refused call. */
const REFUSED: Growth = { firstMs: SHORTEST_PAUSE_MS, lastMs: 60_000 };
/** Waits before a configured limit has capacity: the time is known, but others may be first. */
const LIMITED: Growth = { firstMs: 10, lastMs: 5_000 };

const DEFAULT_LIMITED_MS = 1_000;

/** Share of the grown pause by which it is longer at most, so that not all directives of a lane come back at once. */
const JITTER = 0.2;

/** Milliseconds before the next call, after `repeats` refused ones before this one. `askedMs`: null = the server names no time. */
export function refusedPauseMs(repeats: number, askedMs: number | null): number {
  return Math.max(askedMs ?? 0, grownMs(REFUSED, repeats));
}

/** Milliseconds before a configured limit is asked again, after `repeats` times before. */
export function limitedPauseMs(repeats: number, askedMs: number | null): number {
  return Math.max(askedMs ?? DEFAULT_LIMITED_MS, grownMs(LIMITED, repeats));
}

function grownMs({ firstMs, lastMs }: Growth, repeats: number): number {
  return Math.min(firstMs * 2 ** Math.min(repeats, 30), lastMs);
}

/** The pause that is made: with jitter, and no longer than is allowed. */
export function jitteredMs(pauseMs: number, longestMs: number, random: () => number): number {
  const spread = Math.min(pauseMs, REFUSED.lastMs) * JITTER * random();
  return Math.ceil(Math.min(pauseMs + spread, longestMs));
}

/** Whether another pause of `pauseMs` after a refused call would be one too many, or would last too long. */
export function isUsedUp(
  { refused, sinceAt }: Pauses,
  { count, totalMs, longestMs }: PauseLimits,
  pauseMs: number,
  now: number,
): boolean {
  const pausedMs = sinceAt === null ? 0 : now - sinceAt;
  return refused >= count || pausedMs + Math.min(pauseMs, longestMs) > totalMs;
}

export function pausesAfter({ count, refused, sinceAt }: Pauses, isRefused: boolean, now: number): Pauses {
  if (!isRefused) return { count: count + 1, refused, sinceAt };
  return { count: count + 1, refused: refused + 1, sinceAt: sinceAt ?? Math.floor(now) };
}

/** A shorter pause is over before a reader of the log could act on it. */
const LOGGED_FROM_MS = 1_000;

/** A log has the first pause after a refused call, and then each that doubles their number. `refused`: as in `Outcome`. */
export function isLogged(delayMs: number, refused: number | null): boolean {
  if (refused === null) return delayMs >= LOGGED_FROM_MS;
  return (refused & (refused - 1)) === 0;
}
