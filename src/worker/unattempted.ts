// Ends directives that get no attempt: past their deadline, cancelled, or of a kind nobody carries out.
// Must never be used once an attempt has begun: its own record says what happened.
import { cancelledError } from '../contract/cancellation.ts';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { errorResult } from '../contract/result.ts';
import { terminalSignal } from '../journal/terminal-signal.ts';
import type { JobOutcome } from '../queue/consume.ts';
import { type AttemptParts, cancelReason, type Claimed, DONE, effectOf, settle } from './claimed.ts';
import { durably } from './durably.ts';

/** A directive that was taken from its lane, and not claimed. */
export type Unclaimed = Pick<Claimed, 'envelope' | 'lane'>;

/** `lost`: a worker died during the attempt that was to be aborted. */
export async function endCancelled(
  parts: AttemptParts,
  taken: Unclaimed & Pick<Claimed, 'definition'>,
  lost: boolean,
): Promise<JobOutcome> {
  const { request_id: requestId, id } = taken.envelope.directive;
  const mayHaveRun = lost && (await effectOf(taken)) === 'once';
  return endWithout(parts, taken, cancelledError(await cancelReason(parts, requestId, id), mayHaveRun));
}

/** Ends a directive that gets no attempt. */
export async function endWithout(
  parts: AttemptParts,
  taken: Unclaimed,
  error: ErrorEnvelope,
): Promise<JobOutcome> {
  const { directive, traceparent } = taken.envelope;
  const { request_id: requestId, id } = directive;
  const signal = terminalSignal(directive, errorResult(error), { requestId, causationId: id, traceparent });
  await durably(parts, () => parts.journal.endUnclaimed(requestId, id, 'failed', [signal]));
  settle(parts, taken, error.type);
  return DONE;
}
