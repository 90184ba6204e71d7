/** Waits for directives to end on behalf of an HTTP request.
 *  It must never outlive the request, nor turn a stopping service into an error: accepted work stays accepted. */
import type { ServerResponse } from 'node:http';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import type { TerminalSignal } from '../contract/signal/signal.ts';

export interface WaitOptions {
  readonly waitMs: number;
  /** Aborts when the requester has gone or the service stops. */
  readonly signal: AbortSignal;
}

/** A signal that aborts when `response` can no longer be sent, or when the service stops. */
export type RequesterSignal = (response: ServerResponse) => AbortSignal;

/** One listener for all: `AbortSignal.any` for each request costs more than the rest of its wait. */
export function createRequesterSignals(stop: AbortSignal): RequesterSignal {
  const open = new Set<AbortController>();
  stop.addEventListener('abort', () => open.forEach((requester) => requester.abort()), { once: true });
  return (response) => {
    const requester = new AbortController();
    // Its `close` was sent before.
    if (stop.aborted || response.closed || response.destroyed) requester.abort();
    else open.add(requester);
    response.once('close', () => {
      open.delete(requester);
      if (!response.writableFinished) requester.abort();
    });
    return requester.signal;
  };
}

/** The signal that ended the directive, or null when it has not ended in time. */
export async function endOf(
  client: DirectiveClient,
  requestId: string,
  directiveId: string,
  { waitMs, signal }: WaitOptions,
): Promise<TerminalSignal | null> {
  try {
    return await client.result(requestId, directiveId, { timeoutMs: waitMs, signal });
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}
