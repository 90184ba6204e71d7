// A call whose answer was lost, as the journal keeps it from one claim to the next, and when its tool is asked again.
// Must never do I/O; the clock is a parameter.
import type { ReconcileSettings } from '../../contract/tool/reconcile.ts';
import { isObject } from '../../contract/json/json-object.ts';

export interface Doubt {
  /** When the loss was noticed, milliseconds since the epoch by the clock of Redis. */
  readonly sinceAt: number;
  /** Calls of the other tool that have begun, of all workers. */
  readonly asked: number;
  /** Type of the error that the lost call would have ended with; `worker_lost` and `stopped`: its worker made no more of it. */
  readonly cause: string;
}

/** Causes after which the call counts as never made, once it is known not to have happened. */
const UNCOUNTED: ReadonlySet<string> = new Set(['worker_lost', 'stopped']);

const LONGEST_CAUSE = 128;

export function newDoubt(cause: string, now: number): Doubt {
  return { sinceAt: Math.floor(now), asked: 0, cause: cause.slice(0, LONGEST_CAUSE) };
}

/** The text that the journal keeps; never that of a task. */
export function textOfDoubt(doubt: Doubt): string {
  return JSON.stringify({ reconcile: doubt });
}

/** null: the text is that of a task, or there is none. */
export function doubtIn(text: string | null | undefined): Doubt | null {
  if (typeof text !== 'string' || !text.startsWith('{"reconcile":')) return null;
  const read: unknown = JSON.parse(text);
  return isObject(read) ? (read['reconcile'] as Doubt) : null;
}

/** Whether the next attempt is made as after the death of a worker, without a failure counted. */
export function isUncounted({ cause }: Doubt): boolean {
  return UNCOUNTED.has(cause);
}

export function isSettled({ sinceAt }: Doubt, { settleMs }: ReconcileSettings, now: number): boolean {
  return now >= sinceAt + settleMs;
}

/** Milliseconds from now to the next call of the other tool; null: there is none. `remainingMs`: until the deadline. */
export function nextLookMs(
  { sinceAt, asked }: Doubt,
  { tries, firstMs, settleMs, totalMs }: ReconcileSettings,
  { now, remainingMs }: { readonly now: number; readonly remainingMs: number },
): number | null {
  if (asked >= tries) return null;
  const lastMs = Math.min(sinceAt + totalMs - now, remainingMs - 1);
  const grownMs = firstMs * 2 ** asked;
  if (grownMs > lastMs) return null;
  // The last one is made when every answer of it is believed, if that is not too late.
  const settledMs = asked === tries - 1 ? Math.ceil(sinceAt + settleMs - now) : 0;
  return settledMs > lastMs ? grownMs : Math.max(grownMs, settledMs);
}
