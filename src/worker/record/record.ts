// Writes what became of an attempt: its end, its retry, its claim given back.
// Must never give up before Redis has answered: from here on a known result may not be lost.
import { ownId, requestField } from '../../contract/access/tenant.ts';
import { payloadPath } from '../../contract/api-path.ts';
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import { cancelledError } from '../../contract/directive/cancellation.ts';
import { modelLane, parseModelName } from '../../contract/model/model-name.ts';
import { errorResult, type Result } from '../../contract/result.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { AskedQuestions, Execution } from '../executors/definition.ts';
import type { Release } from '../../store/request/claim-holder.ts';
import { draftSignal, type SignalOrigin, systemStamp } from '../../store/log/signal-draft.ts';
import { waitSignal, type WaitSignal } from '../../store/request/wait-note.ts';
import { directiveMetadata, type SignalMetadata, terminalSignal } from '../../store/log/terminal-signal.ts';
import type { JobOutcome } from '../../queue/consume.ts';
import { failureText, jobDataOf } from '../../queue/job.ts';
import { reportSettled } from '../../directives/read/settle-span.ts';
import {
  type AttemptParts,
  cancelReason,
  type Claimed,
  DONE,
  noteEnd,
  repeatPolicyOf,
} from '../attempt/claimed.ts';
import type { Outcome } from '../attempt/outcome.ts';
import { durably } from './durably.ts';
import { recordQuestions, redisNow } from '../attempt/questions.ts';
import { withdrawTask } from '../attempt/left-task.ts';
import { boundError, boundResult } from './result-bound.ts';
import { boundReport } from './report-bound.ts';
import { candidateAfter, candidateInstead, candidatePaused } from '../attempt/model-candidate.ts';
import { isLogged } from '../attempt/pause.ts';
import { traceIdOf } from '../../platform/telemetry/traces/trace-context.ts';

const SAID_RETRIES = 100;
/** Maximum size of the error of an attempt that is followed by another one, bytes as JSON. */
const LARGEST_RETRY_ERROR_BYTES = 16_384;

type Pause = Extract<Outcome, { kind: 'pause' }>;

/** The results of an attempt beside its outcome. */
export interface Made extends Pick<
  Execution,
  'content' | 'usage' | 'rejected' | 'resumable' | 'unwithdrawn'
> {
  metadata: SignalMetadata;
  /** Something of it is in the log. */
  seen: boolean;
}

/** Writes the outcome; from here on nothing is lost, so it is repeated until Redis answers. */
export async function record(
  parts: AttemptParts,
  claimed: Claimed,
  outcome: Outcome,
  made: Made,
): Promise<JobOutcome> {
  switch (outcome.kind) {
    case 'end':
      return recordEnd(parts, claimed, outcome.result, made);
    case 'retry':
      return recordRetry(parts, claimed, outcome, made);
    case 'fallback':
      return recordFallback(parts, claimed, outcome, made);
    case 'pause':
      return recordPause(parts, claimed, outcome, made);
    case 'ask':
      return recordAsk(parts, claimed, outcome.asks, made);
    case 'release':
      return recordRelease(parts, claimed, outcome.delayMs ?? 0, made, { anew: outcome.anew ?? false });
    case 'drop':
      return DONE;
  }
}

/** Ends a directive whose last attempt was another worker's: this claim made none. */
export async function recordLost(
  parts: AttemptParts,
  claimed: Claimed,
  error: ErrorEnvelope,
  repeatPolicy: RepeatPolicy,
): Promise<JobOutcome> {
  const origin = { ...claimed.origin, attempt: claimed.attempt - 1 };
  return recordUnused(parts, claimed, { error, origin, facts: { effect: repeatPolicy } });
}

/** Ends what was cancelled between its claim and its call: no attempt was made, unless an earlier one left a call behind. */
export async function recordUnbegun(parts: AttemptParts, claimed: Claimed): Promise<JobOutcome> {
  const { requestId, id } = claimed.claim;
  const mayHaveRun = claimed.granted.task !== null && (await repeatPolicyOf(claimed)) === 'once';
  const error = cancelledError(await cancelReason(parts, requestId, id), mayHaveRun);
  // The span of this claim is never reported.
  const { traceparent } = claimed.envelope;
  const before = claimed.attempt > 1 ? { attempt: claimed.attempt - 1 } : {};
  const origin = { requestId, causationId: id, traceparent, ...before };
  return recordUnused(parts, claimed, { error, origin, facts: {} });
}

async function recordUnused(
  parts: AttemptParts,
  claimed: Claimed,
  { error, origin, facts }: { error: ErrorEnvelope; origin: SignalOrigin; facts: SignalMetadata },
): Promise<JobOutcome> {
  const { claim: ref, envelope } = claimed;
  const metadata = attemptMetadata({ ...claimed, attempt: claimed.attempt - 1 }, facts);
  const signal = terminalSignal(envelope.directive, errorResult(error), origin, metadata);
  await durably(parts, () => parts.records.journal.finish(ref, 'failed', [signal], { attempted: false }));
  const { directive, traceparent } = envelope;
  const lostFence = claimed.granted.lostClaim?.fence ?? null;
  reportSettled(parts.spans, { directive, lane: claimed.lane, traceparent, error: error.type, lostFence });
  return noteEnd(parts, claimed, error, { isOver: await withdrawTask(parts, claimed, claimed.granted.task) });
}

function attemptMetadata(
  { attempt, granted, candidate: { refused } }: Pick<Claimed, 'attempt' | 'granted' | 'candidate'>,
  facts: SignalMetadata,
): SignalMetadata {
  const redelivered = granted.redeliveries > 0 ? { redeliveries: granted.redeliveries } : {};
  return { attempts: attempt, ...(refused > 0 ? { refused_calls: refused } : {}), ...redelivered, ...facts };
}

async function recordPause(
  parts: AttemptParts,
  claimed: Claimed,
  outcome: Pause,
  made: Made,
): Promise<JobOutcome> {
  const { delayMs, reason, refused } = outcome;
  const change = { isRefused: refused !== null, isAttempt: made.seen };
  const stage = JSON.stringify(candidatePaused(claimed.candidate, change, redisNow(claimed)));
  const waiting = pauseSignal(claimed, outcome);
  const why = { reason, waiting, repeated: change.isRefused, anew: true, stage };
  return recordRelease(parts, claimed, delayMs, made, why);
}

/** undefined: the log has enough of them, or the pause is too short to be read about. */
function pauseSignal({ envelope, lane, origin }: Claimed, pause: Pause): WaitSignal | undefined {
  const { delayMs, reason, refused, detail } = pause;
  if (!isLogged(delayMs, refused)) return undefined;
  const wait = { reason, untilAt: Date.now() + delayMs, detail };
  return waitSignal(envelope.directive, lane, wait, origin, refused);
}

/** The claim ends here, and with it the worker's part: the next attempt begins with the answers, or when their time is up. */
async function recordAsk(
  parts: AttemptParts,
  claimed: Claimed,
  asks: AskedQuestions,
  made: Made,
): Promise<JobOutcome> {
  const { verdict, untilAt } = await recordQuestions(parts, claimed, asks);
  if (verdict === 'cancelled') return recordCancelled(parts, claimed, made);
  if (verdict === 'no_room') return recordEnd(parts, claimed, errorResult(noRoomToAsk()), made);
  if (verdict !== 'asked') return DONE;
  return { kind: 'later', at: Date.now() + Math.max(0, untilAt - redisNow(claimed)) };
}

function noRoomToAsk(): ErrorEnvelope {
  return errorEnvelope('request_full', 'the questions of the tool would exceed limits.request_bytes');
}

/** Gives the claim back; what was cancelled meanwhile ends here instead of waiting for an attempt that never comes. */
export async function recordRelease(
  parts: AttemptParts,
  claimed: Claimed,
  delayMs: number,
  made: Made,
  why: Omit<Release, 'seen'> = {},
): Promise<JobOutcome> {
  const said = { seen: made.seen, ...why };
  const verdict = await durably(parts, () => parts.records.journal.release(claimed.claim, delayMs, said));
  if (verdict === 'cancelled') return recordCancelled(parts, claimed, made);
  return { kind: 'later', at: Date.now() + delayMs };
}

async function recordCancelled(parts: AttemptParts, claimed: Claimed, made: Made): Promise<JobOutcome> {
  const { requestId, id } = claimed.claim;
  const mayHaveRun = made.resumable === true && made.metadata['effect'] === 'once';
  const error = cancelledError(await cancelReason(parts, requestId, id), mayHaveRun);
  return recordEnd(parts, claimed, errorResult(error), made);
}

async function recordEnd(
  parts: AttemptParts,
  claimed: Claimed,
  full: Result,
  made: Made,
): Promise<JobOutcome> {
  const { claim: ref, envelope, origin } = claimed;
  const { result, truncated } = boundResult(
    full,
    parts.limits.result,
    payloadPath(ownId(ref.requestId), ref.id),
  );
  if (truncated) {
    const kept = await durably(parts, () => parts.records.payloads.put(ref, truncated.json));
    if (kept.kind === 'no_room') return recordSmall(parts, claimed, full, made, kept.bytes);
  }
  const cut = truncated ? { result_truncated_bytes: truncated.bytes } : {};
  const metadata = attemptMetadata(claimed, { ...boundMetadata(made.metadata), ...cut });
  // Content speaks of a success; an error that was decided here has words of its own.
  const content = result.ok ? made.content : undefined;
  const { contentCharacters } = parts.limits;
  const beside = { content, contentCharacters, ...(full.ok ? { payload: full.payload } : {}) };
  const status = result.ok ? 'succeeded' : 'failed';
  // The models have answered a tool that failed afterwards.
  const isUsed = result.ok || envelope.directive.type === 'tool_exec';
  // Made in the order of the log, so that their times have it too.
  const signals = [
    ...rejectedSignals(parts, claimed, made),
    ...(isUsed ? usageSignals(claimed, made) : []),
    terminalSignal(envelope.directive, result, origin, metadata, systemStamp, beside),
  ];
  const leavesTask = leavesItsTask(made);
  const withJob = claimed.held?.end;
  const failure = result.ok ? '' : failureText(result.error);
  const verdict = await durably(parts, () =>
    parts.records.journal.finish(ref, status, signals, { leavesTask, withJob, failure }),
  );
  if (verdict.kind === 'no_room') return recordSmall(parts, claimed, full, made, verdict.bytes);
  // The sweeper looks at what is left behind when the lease would have ended.
  const isOver = !leavesTask;
  if (verdict.kind !== 'stale') return noteEnd(parts, claimed, result.ok ? null : result.error, { isOver });
  parts.logger.warn(logIds(claimed), 'the claim was taken over; this attempt says nothing');
  return DONE;
}

/** Given back to be cancelled, or ended while its server was away: the task may go on there. */
function leavesItsTask({ resumable, unwithdrawn }: Made): boolean {
  return resumable === true || unwithdrawn === true;
}

/** A user's executor and a server's list of rejected directives are not trusted with the size of it. */
function boundMetadata(metadata: SignalMetadata): SignalMetadata {
  return boundReport({ metadata }).metadata;
}

/**
 * Writes a short end, which is written in any case, into a request that is too full for the whole end. `held`: bytes of
 * the request.
 */
async function recordSmall(
  parts: AttemptParts,
  claimed: Claimed,
  full: Result,
  made: Made,
  held: number,
): Promise<JobOutcome> {
  const { claim: ref, envelope, origin } = claimed;
  const error = smallEnd(full, held);
  const said = attemptMetadata(claimed, smallMetadata(made.metadata));
  const signal = terminalSignal(envelope.directive, errorResult(error), origin, said);
  const leavesTask = leavesItsTask(made);
  await durably(parts, () => parts.records.journal.finish(ref, 'failed', [signal], { leavesTask }));
  parts.logger.warn(
    { ...logIds(claimed), held_bytes: held },
    'a result would exceed limits.request_bytes: its directive fails',
  );
  return noteEnd(parts, claimed, error, { isOver: !leavesTask });
}

/** The usage signals of a success, and only where there were tokens. */
function usageSignals({ envelope, origin }: Claimed, { usage }: Made): SignalDraft[] {
  if (!usage || usage.input_tokens + usage.output_tokens === 0) return [];
  const metadata = { ...directiveMetadata(envelope.directive), ...usage.metadata };
  return [draftSignal('ai.usage', { ...usage, metadata }, origin)];
}

/** Control directives that were not accepted are never silent; those of an attempt that is repeated are in its metadata. */
function rejectedSignals({ logger }: AttemptParts, claimed: Claimed, { rejected = [] }: Made): SignalDraft[] {
  if (rejected.length === 0) return [];
  const { claim: ref, envelope, origin } = claimed;
  const { directive } = envelope;
  logger.warn({ ...logIds(claimed), rejected }, 'control directives in the result of a tool were rejected');
  return rejected.map(({ index, type, reason, message, count }) => {
    const metadata = { ...directiveMetadata(directive), ...(count > 1 ? { count } : {}) };
    const data = { call_id: ref.id, index, directive_type: type, reason, message, metadata };
    return draftSignal('directive.rejected', data, origin);
  });
}

async function recordRetry(
  parts: AttemptParts,
  claimed: Claimed,
  { error, delayMs }: Extract<Outcome, { kind: 'retry' }>,
  made: Made,
): Promise<JobOutcome> {
  const signals = isSaid(claimed.granted.failures + 1)
    ? [retrySignal(claimed, error, delayMs, made.metadata)]
    : [];
  const verdict = await durably(parts, () => parts.records.journal.retry(claimed.claim, delayMs, signals));
  // Cancelled while it ran, and failed by itself first: there is no next attempt to wait for.
  if (verdict.kind === 'cancelled') return recordCancelled(parts, claimed, made);
  if (verdict.kind !== 'waiting') return DONE;
  return { kind: 'later', at: Date.now() + delayMs, errorType: error.type, attempt: claimed.attempt + 1 };
}

/** A directive may ask for any number of retries: from the hundredth on the log has every hundredth. */
function isSaid(failures: number): boolean {
  return failures <= SAID_RETRIES || failures % SAID_RETRIES === 0;
}

/** The next model may be in another lane: the directive is enqueued there, and its job in this lane ends. */
async function recordFallback(
  parts: AttemptParts,
  claimed: Claimed,
  { error, from, to, cheaper }: Extract<Outcome, { kind: 'fallback' }>,
  made: Made,
): Promise<JobOutcome> {
  const { claim: ref, envelope, granted } = claimed;
  const candidate =
    cheaper === undefined
      ? candidateAfter(claimed.candidate, granted, from, error)
      : candidateInstead(claimed, from, error, cheaper);
  const stage = JSON.stringify(candidate);
  const lane = laneOf(to) ?? claimed.lane;
  const signal = retrySignal(claimed, error, 0, {
    ...made.metadata,
    fallback: {
      from,
      to,
      reason: error.type,
      ...(cheaper === undefined ? {} : { budget: cheaper.budget, cheaper: cheaper.alias }),
    },
  });
  const verdict = await durably(parts, () => parts.records.journal.retry(ref, 0, [signal], { stage, lane }));
  if (verdict.kind === 'cancelled') return recordCancelled(parts, claimed, made);
  if (verdict.kind !== 'waiting') return DONE;
  const next = { errorType: error.type, attempt: claimed.attempt + 1 };
  if (lane === claimed.lane) return { kind: 'later', at: Date.now(), ...next };
  // If it cannot be enqueued now, the sweeper does it.
  await parts.gated.enqueue(lane, nextJob(claimed, lane, to), envelope).catch(() => {});
  return { kind: 'done', errorType: error.type };
}

function nextJob(
  { envelope, digest, attempt, granted: { deadlineAt } }: Claimed,
  lane: string,
  model: string,
) {
  return jobDataOf(envelope, { digest, lane, model, attempt: attempt + 1, deadlineAt });
}

function laneOf(model: string): string | null {
  const ref = parseModelName(model);
  return ref && modelLane(ref.provider);
}

function retrySignal(
  { claim: ref, envelope, origin, granted, ...claimed }: Claimed,
  error: ErrorEnvelope,
  delayMs: number,
  metadata: SignalMetadata,
): SignalDraft {
  const { directive } = envelope;
  const data = {
    call_id: ref.id,
    error: boundError(error, LARGEST_RETRY_ERROR_BYTES),
    failures: granted.failures + 1,
    max_retries: 'max_retries' in directive ? directive.max_retries : 0,
    delay_ms: delayMs,
    next_attempt_at: new Date(Date.now() + delayMs).toISOString(),
    metadata: { ...directiveMetadata(directive), ...attemptMetadata({ ...claimed, granted }, metadata) },
  };
  return draftSignal('directive.retry_scheduled', data, origin);
}

const LARGEST_ERROR_BYTES = 768;
const LONGEST_TEXT = 128;
/** In the order of their worth. */
const KEPT = ['effect', 'server', 'model', 'duration_ms', 'redeliveries', 'result_truncated_bytes'];

/** `held`: bytes of the request. A result was got, and may have changed the world: its loss is an error. */
function smallEnd(result: Result, held: number): ErrorEnvelope {
  if (!result.ok) return boundError(result.error, LARGEST_ERROR_BYTES);
  const bytes = Buffer.byteLength(JSON.stringify(result.payload) ?? 'null');
  const message = `the call succeeded, and its result of ${bytes} bytes does not fit into its request any more`;
  const details = { bytes, limit: 'request_bytes', request_bytes: held };
  return { ...errorEnvelope('invalid_result', message, details), retryable: false };
}

function smallMetadata(metadata: SignalMetadata): SignalMetadata {
  const isSmall = (value: unknown): boolean =>
    typeof value === 'number' || (typeof value === 'string' && value.length <= LONGEST_TEXT);
  return Object.fromEntries(
    KEPT.filter((name) => isSmall(metadata[name])).map((name) => [name, metadata[name]]),
  );
}

export function logIds({ claim, envelope }: Pick<Claimed, 'claim' | 'envelope'>) {
  const { requestId, id, fence } = claim;
  return { ...requestField(requestId), directive_id: id, fence, trace_id: traceIdOf(envelope.traceparent) };
}
