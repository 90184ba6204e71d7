// Ends directives that get no attempt: past their deadline, cancelled, or of an unknown type. Never used once an
// attempt has begun: its own record has the outcome.
import { cancelledError, deadlineExceededError } from '../../contract/directive/cancellation.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { errorResult } from '../../contract/result.ts';
import { terminalSignal } from '../../store/log/terminal-signal.ts';
import type { LostClaim } from '../../store/request/verdicts.ts';
import type { JobOutcome } from '../../queue/consume.ts';
import { reportLost } from '../../directives/attempt-place.ts';
import { reportSettled } from '../../directives/read/settle-span.ts';
import { type AttemptParts, cancelReason, type Claimed, noteEnd, repeatPolicyOf } from './claimed.ts';
import { durably } from '../record/durably.ts';
import { withdrawTask } from './left-task.ts';
import { deadlineOf } from './outcome.ts';

/** A directive that was taken from its lane, and not claimed. */
export type Unclaimed = Pick<Claimed, 'envelope' | 'lane'>;

type Known = Unclaimed & Pick<Claimed, 'definition'>;

/** `lost`: a worker died during the attempt that was to be aborted, or that began before the deadline. `lostClaim`: or before it. */
interface Lost {
  lost: boolean;
  lostClaim: LostClaim | null;
  /** The task that it has left at its server; null: none. */
  task: string | null;
}

export async function endCancelled(parts: AttemptParts, taken: Known, found: Lost): Promise<JobOutcome> {
  const { request_id: requestId, id } = taken.envelope.directive;
  const mayHaveRun = await mayHaveHappened(taken, found);
  const error = cancelledError(await cancelReason(parts, requestId, id), mayHaveRun);
  return endLeft(parts, taken, error, found);
}

/** Records the end before the server is asked to stop, so that waiting callers have it first. */
async function endLeft(
  parts: AttemptParts,
  taken: Known,
  error: ErrorEnvelope,
  { lostClaim, task }: Lost,
): Promise<JobOutcome> {
  const isNew = await writeEnd(parts, taken, error, lostClaim);
  return noteEnd(parts, taken, error, { isNew, isOver: await withdrawTask(parts, taken, task) });
}

export async function endExpired(parts: AttemptParts, taken: Known, found: Lost): Promise<JobOutcome> {
  const unknown = (await mayHaveHappened(taken, found)) ? { outcome: 'unknown' } : {};
  const error = deadlineExceededError(deadlineOf(taken.envelope.directive), unknown);
  return endLeft(parts, taken, error, found);
}

async function mayHaveHappened(taken: Known, { lost, task }: Lost): Promise<boolean> {
  return (lost || task !== null) && (await repeatPolicyOf(taken)) === 'once';
}

/** Ends a directive that gets no attempt. */
export async function endWithout(
  parts: AttemptParts,
  taken: Unclaimed,
  error: ErrorEnvelope,
): Promise<JobOutcome> {
  return noteEnd(parts, taken, error, { isNew: await writeEnd(parts, taken, error, null) });
}

/** Whether it was not written before. */
async function writeEnd(
  parts: AttemptParts,
  taken: Unclaimed,
  error: ErrorEnvelope,
  lostClaim: LostClaim | null,
): Promise<boolean> {
  const { directive, traceparent } = taken.envelope;
  const { request_id: requestId, id } = directive;
  const signal = terminalSignal(directive, errorResult(error), { requestId, causationId: id, traceparent });
  const write = () => parts.records.journal.endUnclaimed(requestId, id, 'failed', [signal]);
  const { kind } = await durably(parts, write);
  if (kind === 'ended') reportEnd(parts, taken, error.type, lostClaim);
  return kind === 'ended';
}

function reportEnd(
  { spans }: AttemptParts,
  { envelope: { directive, traceparent }, lane }: Unclaimed,
  error: string,
  claim: LostClaim | null,
): void {
  const about = { directive, lane, traceparent };
  if (claim !== null) reportLost(spans, { ...about, model: null, claim });
  reportSettled(spans, { ...about, error, lostFence: claim?.fence ?? null });
}
