/** Waits for the end of a call that was submitted, also over an outage of the service behind it.
 *  It must never take an outage for an end: what was accepted goes on. */
import { setTimeout as wait } from 'node:timers/promises';
import type { DirectiveClient } from '../../../contract/directive/directive-client.ts';
import { ServiceUnavailable } from '../../../contract/problem.ts';
import { isTerminalSignal, type TerminalSignal } from '../../../contract/signal/signal.ts';
import type { Submission } from '../../../contract/directive/submission.ts';
import type { Place } from './tool-answer.ts';

export interface EndWait {
  /** How long to wait, milliseconds; Infinity: until the end. */
  readonly forMs: number;
  /** The client has left, or the service stops. Rejects then with its reason. */
  readonly signal: AbortSignal;
  /** Aborts when the client is answered otherwise: the wait is over then, without an end. Default: never. */
  readonly enough?: AbortSignal | null;
}

const AGAIN_MS = 1_000;
/** Longest single step of a long wait. */
const LOOK_MS = 60_000;

/** The end that the submission has brought already; null: not yet. */
export function endOf({ directives: [entry] }: Submission): TerminalSignal | null {
  return entry?.result && isTerminalSignal(entry.result) ? entry.result : null;
}

/** null: it has not ended in time. */
export async function awaitEnd(
  client: Pick<DirectiveClient, 'result'>,
  { requestId, id }: Place,
  { forMs, signal, enough = null }: EndWait,
): Promise<TerminalSignal | null> {
  const endsAt = performance.now() + forMs;
  const either = enough === null ? signal : AbortSignal.any([signal, enough]);
  for (;;) {
    const timeoutMs = Math.max(0, Math.min(LOOK_MS, endsAt - performance.now()));
    const end = await unlessEnough(
      look(client, { requestId, id }, { forMs: timeoutMs, signal: either }),
      enough,
    );
    signal.throwIfAborted();
    if (end !== null || enough?.aborted === true || performance.now() >= endsAt) return end;
  }
}

async function unlessEnough<T>(work: Promise<T>, enough: AbortSignal | null): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (enough?.aborted !== true) throw error;
    return null;
  }
}

async function look(
  client: Pick<DirectiveClient, 'result'>,
  { requestId, id }: Place,
  { forMs, signal }: EndWait,
): Promise<TerminalSignal | null> {
  try {
    return await client.result(requestId, id, { timeoutMs: forMs, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ServiceUnavailable)) throw error;
    await wait(Math.min(forMs, error.retryAfterMs ?? AGAIN_MS), undefined, { signal });
    return null;
  }
}
