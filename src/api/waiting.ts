/** Waits for directives to end on behalf of an HTTP request.
 *  It must never outlive the request, nor turn a stopping service into an error: accepted work stays accepted. */
import type { ServerResponse } from 'node:http';
import type { DirectiveClient } from '../contract/directive-client.ts';
import type { TerminalSignal } from '../contract/signal.ts';

export interface WaitOptions {
  readonly waitMs: number;
  /** Aborts when the requester has gone or the service stops. */
  readonly signal: AbortSignal;
}

/** Aborts when `response` can no longer be sent, or with `stop`. */
export function requesterSignal(response: ServerResponse, stop: AbortSignal): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return AbortSignal.any([gone.signal, stop]);
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
