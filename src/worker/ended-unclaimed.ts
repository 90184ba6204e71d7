// Ends directives that get no attempt: past their deadline, cancelled, or of a kind nobody carries out.
// Must never be used once an attempt has begun: its own record says what happened.
import { cancelledError, deadlineExceededError } from '../contract/cancellation.ts';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { errorResult } from '../contract/result.ts';
import { terminalSignal } from '../journal/terminal-signal.ts';
import type { JobOutcome } from '../queue/consume.ts';
import { type AttemptParts, cancelReason, type Claimed, noteEnd, repeatPolicyOf } from './claimed.ts';
import { durably } from './durably.ts';
import { deadlineOf } from './outcome.ts';

/** A directive that was taken from its lane, and not claimed. */
export type Unclaimed = Pick<Claimed, 'envelope' | 'lane'>;

type Known = Unclaimed & Pick<Claimed, 'definition'>;

/** `lost`: a worker died during the attempt that was to be aborted. */
export async function endCancelled(parts: AttemptParts, taken: Known, lost: boolean): Promise<JobOutcome> {
  const { request_id: requestId, id } = taken.envelope.directive;
  const mayHaveRun = await mayHaveHappened(taken, lost);
  return endWithout(parts, taken, cancelledError(await cancelReason(parts, requestId, id), mayHaveRun));
}

/** `lost`: a worker died during an attempt that began before the deadline. */
export async function endExpired(parts: AttemptParts, taken: Known, lost: boolean): Promise<JobOutcome> {
  const unknown = (await mayHaveHappened(taken, lost)) ? { outcome: 'unknown' } : {};
  const error = deadlineExceededError(deadlineOf(taken.envelope.directive), unknown);
  return endWithout(parts, taken, error);
}

async function mayHaveHappened(taken: Known, lost: boolean): Promise<boolean> {
  return lost && (await repeatPolicyOf(taken)) === 'once';
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
  await durably(parts, () => parts.records.journal.endUnclaimed(requestId, id, 'failed', [signal]));
  return noteEnd(parts, taken, error.type);
}
