// Writes what became of an attempt: its end, its retry, its claim given back.
// Must never give up before Redis has answered: from here on a known result may not be lost.
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { cancelledError } from '../contract/cancellation.ts';
import { errorResult, type Result } from '../contract/result.ts';
import type { Effect } from '../contract/work-directive.ts';
import type { ClaimRef } from '../journal/journal.ts';
import { draftSignal, systemStamp } from '../journal/signal-draft.ts';
import { directiveMetadata, terminalSignal, type SignalMetadata } from '../journal/terminal-signal.ts';
import type { JobOutcome } from '../queue/consume.ts';
import { type AttemptParts, cancelReason, type Claimed, DONE, settle } from './claimed.ts';
import type { Outcome } from './outcome.ts';
import { durably } from './durably.ts';
import { boundResult } from './result-bound.ts';

/** Writes the outcome; from here on nothing is lost, so it is repeated until Redis answers. */
export async function record(
  parts: AttemptParts,
  claimed: Claimed,
  outcome: Outcome,
  facts: SignalMetadata,
  content?: string,
): Promise<JobOutcome> {
  switch (outcome.kind) {
    case 'end':
      return recordEnd(parts, claimed, outcome.result, facts, content);
    case 'retry':
      return recordRetry(parts, claimed, outcome.error, outcome.delayMs, facts);
    case 'pause':
      return recordPause(parts, claimed, outcome, facts);
    case 'release':
      return recordRelease(parts, claimed, 0, facts);
    case 'drop':
      return DONE;
  }
}

/** Ends a directive whose last attempt was another worker's: this claim made none. */
export async function recordLost(
  parts: AttemptParts,
  claimed: Claimed,
  error: ErrorEnvelope,
  effect: Effect,
): Promise<JobOutcome> {
  const { claim: ref, envelope } = claimed;
  const attempt = claimed.attempt - 1;
  const origin = { ...claimed.origin, attempt };
  const metadata = attemptMetadata({ ...claimed, attempt }, { effect });
  const signal = terminalSignal(envelope.directive, errorResult(error), origin, metadata);
  await durably(parts, () => parts.journal.finish(ref, 'failed', [signal], { attempted: false }));
  settle(parts, envelope, error.type);
  return DONE;
}

function attemptMetadata({ attempt, granted }: Claimed, facts: SignalMetadata): SignalMetadata {
  const redelivered = granted.redeliveries > 0 ? { redeliveries: granted.redeliveries } : {};
  return { attempts: attempt, ...redelivered, ...facts };
}

async function recordPause(
  parts: AttemptParts,
  claimed: Claimed,
  { delayMs, lane: wholeLane }: Extract<Outcome, { kind: 'pause' }>,
  facts: SignalMetadata,
): Promise<JobOutcome> {
  const released = await recordRelease(parts, claimed, delayMs, facts);
  const { lane } = claimed.envelope;
  // A lane that is not paused in time only costs another such answer.
  if (wholeLane && lane) await parts.lanes.pauseFor(lane, delayMs).catch(() => {});
  return released;
}

/** Gives the claim back; what was cancelled meanwhile ends here instead of waiting for an attempt that never comes. */
async function recordRelease(
  parts: AttemptParts,
  claimed: Claimed,
  delayMs: number,
  facts: SignalMetadata,
): Promise<JobOutcome> {
  const verdict = await durably(parts, () => parts.journal.release(claimed.claim, delayMs));
  if (verdict === 'cancelled') return recordCancelled(parts, claimed, facts);
  return { kind: 'later', at: Date.now() + delayMs };
}

async function recordCancelled(
  parts: AttemptParts,
  claimed: Claimed,
  facts: SignalMetadata,
): Promise<JobOutcome> {
  const { requestId, id } = claimed.claim;
  const error = cancelledError(await cancelReason(parts, requestId, id), false);
  return recordEnd(parts, claimed, errorResult(error), facts);
}

async function recordEnd(
  parts: AttemptParts,
  claimed: Claimed,
  full: Result,
  facts: SignalMetadata,
  content?: string,
): Promise<JobOutcome> {
  const { claim: ref, envelope, origin } = claimed;
  const { result, truncated } = boundResult(full, parts.resultBound, payloadPath(ref));
  if (truncated) await durably(parts, () => parts.payloads.put(ref, truncated.json));
  const cut = truncated ? { result_truncated_bytes: truncated.bytes } : {};
  const metadata = attemptMetadata(claimed, { ...facts, ...cut });
  // Content speaks of a success; an error that was decided here has words of its own.
  const read = result.ok && !truncated ? content : undefined;
  const signal = terminalSignal(envelope.directive, result, origin, metadata, systemStamp, read);
  const status = result.ok ? 'succeeded' : 'failed';
  const verdict = await durably(parts, () => parts.journal.finish(ref, status, [signal]));
  if (verdict.kind === 'stale')
    parts.logger.warn({ ...ref }, 'the claim was taken over; this attempt says nothing');
  else settle(parts, envelope, result.ok ? null : result.error.type);
  return DONE;
}

/** Where the API serves the whole payload. */
function payloadPath({ requestId, id }: ClaimRef): string {
  return `/v1/requests/${encodeURIComponent(requestId)}/directives/${encodeURIComponent(id)}/payload`;
}

async function recordRetry(
  parts: AttemptParts,
  claimed: Claimed,
  error: ErrorEnvelope,
  delayMs: number,
  facts: SignalMetadata,
): Promise<JobOutcome> {
  const { claim: ref, envelope, origin, granted } = claimed;
  const max_retries = 'max_retries' in envelope.directive ? envelope.directive.max_retries : 0;
  const data = {
    call_id: ref.id,
    error,
    failures: granted.failures + 1,
    max_retries,
    delay_ms: delayMs,
    next_attempt_at: new Date(Date.now() + delayMs).toISOString(),
    metadata: { ...directiveMetadata(envelope.directive), ...attemptMetadata(claimed, facts) },
  };
  const signal = draftSignal('directive.retry_scheduled', data, origin);
  const verdict = await durably(parts, () => parts.journal.retry(ref, delayMs, [signal]));
  // Cancelled while it ran, and failed by itself first: there is no next attempt to wait for.
  if (verdict.kind === 'cancelled') return recordCancelled(parts, claimed, facts);
  return verdict.kind === 'waiting' ? { kind: 'later', at: Date.now() + delayMs } : DONE;
}
