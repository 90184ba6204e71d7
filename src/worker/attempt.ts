// One attempt of one directive: claim → execute → decide → record. The whole story on one page.
// Must never execute without a claim, nor say anything after the claim was lost.
import { hash } from 'node:crypto';
import { cancelledError } from '../contract/cancellation.ts';
import type { Directive } from '../contract/directive.ts';
import { errorEnvelope, type ErrorEnvelope } from '../contract/error-envelope.ts';
import { errorResult, type Result } from '../contract/result.ts';
import type { SignalDraft } from '../contract/signal.ts';
import type { Effect } from '../contract/work-directive.ts';
import type { Execution, QueuedDefinition } from '../executors/definition.ts';
import type { Registry } from '../executors/registry.ts';
import { decodeEnvelope, type Envelope } from '../journal/envelope.ts';
import type { ClaimRef, ClaimVerdict, Journal } from '../journal/journal.ts';
import { draftSignal, systemStamp, type SignalOrigin } from '../journal/signal-draft.ts';
import type { Settlement } from '../journal/settlement.ts';
import { directiveMetadata, terminalSignal, type SignalMetadata } from '../journal/terminal-signal.ts';
import type { JobOutcome } from '../queue/consume.ts';
import type { Ring } from '../queue/job.ts';
import type { Lanes } from '../queue/lanes.ts';
import { newIdentifier } from '../telemetry/identifier.ts';
import { childTraceparent } from '../telemetry/trace-context.ts';
import { persistently } from './persistently.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import type { Heartbeat } from './heartbeat.ts';
import { lostAttemptError, outcomeOf, type Outcome, type StopReason } from './outcome.ts';
import { boundResult, type ResultBound } from './result-bound.ts';
import { createReporter, type Reporter } from './reporter.ts';
import { runExecutor } from './run-executor.ts';
import type { RunningAttempts } from './running-attempts.ts';

export interface AttemptParts {
  journal: Journal;
  settlement: Settlement;
  registry: Registry;
  heartbeat: Heartbeat;
  running: RunningAttempts;
  lanes: Lanes;
  breaker: CircuitBreaker;
  resultBound: ResultBound;
  leaseMs: number;
  logger: AttemptLogger;
}

export interface AttemptLogger {
  warn(fields: Record<string, unknown>, message: string): void;
}

type Granted = Extract<ClaimVerdict, { kind: 'granted' }>;

/** A claimed directive on its way through the attempt. */
interface Claimed {
  envelope: Envelope;
  definition: QueuedDefinition;
  claim: ClaimRef;
  granted: Granted;
  origin: SignalOrigin;
  attempt: number;
}

const DONE: JobOutcome = { kind: 'done' };

/** Handles one ring: makes an attempt if the journal allows it, and says what becomes of the job. */
export async function attemptDirective(parts: AttemptParts, ring: Ring): Promise<JobOutcome> {
  if (parts.running.isStopped()) return { kind: 'later', at: Date.now() };
  const envelope = ring.envelope ?? (await readEnvelope(parts.journal, ring));
  if (!envelope) return DONE;
  const definition = parts.registry.queued(envelope.directive.type);
  if (!definition) return endWithout(parts, envelope, internalError(envelope.directive));
  const granted = await claim(parts, envelope, definition, ring.digest);
  switch (granted.kind) {
    case 'granted':
      return makeAttempt(parts, claimed(envelope, definition, granted));
    case 'held':
    case 'wait':
      return { kind: 'later', at: granted.until };
    case 'stale_body':
      return retakeFromJournal(parts, ring);
    case 'expired':
      return endWithout(
        parts,
        envelope,
        errorEnvelope('deadline_exceeded', 'no terminal result by the deadline'),
      );
    case 'cancelled':
      return endCancelled(parts, envelope, definition, granted.lost);
    // What the index still holds of it, the sweeper settles.
    case 'unknown':
    case 'ended':
      return DONE;
  }
}

async function readEnvelope(journal: Journal, { request_id, id }: Ring): Promise<Envelope | null> {
  const json = await journal.envelope(request_id, id);
  return json === null ? null : decodeEnvelope(json);
}

/** The job carried another body than the journal holds: the journal's is the accepted one. */
async function retakeFromJournal(parts: AttemptParts, ring: Ring): Promise<JobOutcome> {
  const record = await parts.journal.directive(ring.request_id, ring.id);
  if (!record || record.digest === ring.digest) return DONE;
  return attemptDirective(parts, { request_id: ring.request_id, id: ring.id, digest: record.digest });
}

function settle({ settlement }: AttemptParts, { directive, lane }: Envelope, errorType: string | null): void {
  settlement.settle({ requestId: directive.request_id, id: directive.id, lane, errorType });
}

function internalError(directive: Directive): ErrorEnvelope {
  return errorEnvelope('internal_error', `no executor for "${directive.type}"`);
}

async function cancelReason(
  { journal, running }: AttemptParts,
  requestId: string,
  id: string,
): Promise<string | null> {
  return persistently(() => journal.cancelReason(requestId, id), running.givenUp);
}

async function claim(
  parts: AttemptParts,
  envelope: Envelope,
  definition: QueuedDefinition,
  digest: string,
): Promise<ClaimVerdict> {
  const { directive, traceparent } = envelope;
  const { request_id: requestId, id } = directive;
  const data = definition.started(directive);
  const started =
    data && startedSignal(directive, data, { requestId, causationId: id, traceparent, attempt: 1 });
  const token = newIdentifier();
  const request = { requestId, id, digest, token, leaseMs: parts.leaseMs, ...(started ? { started } : {}) };
  return persistently(() => parts.journal.claim(request), parts.running.givenUp);
}

function startedSignal(directive: Directive, data: SignalDraft['data'], origin: SignalOrigin): SignalDraft {
  const withMetadata = { ...data, metadata: directiveMetadata(directive) } as never;
  return draftSignal('ai.tool.started', withMetadata, origin);
}

function claimed(envelope: Envelope, definition: QueuedDefinition, granted: Granted): Claimed {
  const { directive, traceparent } = envelope;
  const attempt = granted.failures + granted.redeliveries + 1;
  const { request_id: requestId, id } = directive;
  const origin = { requestId, causationId: id, traceparent: childTraceparent(traceparent), attempt };
  return { envelope, definition, granted, attempt, origin, claim: { requestId, id, fence: granted.fence } };
}

async function makeAttempt(parts: AttemptParts, claimed: Claimed): Promise<JobOutcome> {
  const { directive } = claimed.envelope;
  if (claimed.granted.lost) {
    const effect = await effectOf(claimed);
    const error = lostAttemptError(effect, claimed.granted.redeliveries);
    if (error) return recordLost(parts, claimed, error, effect);
  }
  const startedAt = performance.now();
  const { execution, stop } = await execute(parts, claimed);
  const durationMs = Math.round(performance.now() - startedAt);
  const remainingMs = remaining(claimed) - durationMs;
  // Only now: before its first connection to the tool's server, this worker knew nothing of the tool.
  const effect = await effectOf(claimed);
  const facts = {
    directive,
    execution,
    effect,
    failures: claimed.granted.failures,
    stop,
    cancelReason: stop === 'cancelled' ? await cancelReason(parts, directive.request_id, directive.id) : null,
    remainingMs,
    unreachedForMs: noteReach(parts, claimed, execution),
    random: Math.random,
  };
  const said = { effect, ...execution.metadata, duration_ms: durationMs };
  return record(parts, claimed, outcomeOf(facts), said, execution.content);
}

/** Ends a directive whose last attempt was another worker's: this claim made none. */
async function recordLost(
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
  await persistently(
    () => parts.journal.finish(ref, 'failed', [signal], { attempted: false }),
    parts.running.givenUp,
  );
  settle(parts, envelope, error.type);
  return DONE;
}

/** Tells the lane's breaker whether the server was reached; null when it was. */
function noteReach({ breaker }: AttemptParts, { envelope }: Claimed, execution: Execution): number | null {
  const lane = envelope.lane ?? '';
  if (execution.unreached) return breaker.unreached(lane);
  breaker.reached(lane);
  return null;
}

async function effectOf({ definition, envelope }: Pick<Claimed, 'definition' | 'envelope'>): Promise<Effect> {
  return definition.effect(envelope.directive, envelope.lane ?? '').catch(() => 'once' as const);
}

function remaining({ granted }: Claimed): number {
  return granted.deadlineAt - granted.now;
}

/** Runs the executor under one abort signal: cancellation, deadline, worker stop, loss of the claim. */
async function execute(
  parts: AttemptParts,
  claimed: Claimed,
): Promise<{ execution: Execution; stop: StopReason | null }> {
  const { envelope, definition, claim: ref, attempt, origin } = claimed;
  const handle = parts.running.begin(ref);
  const unwatch = parts.heartbeat.watch(ref, handle.stop);
  const deadline = setTimeout(() => handle.stop('deadline'), remaining(claimed));
  const reporter = createReporter(parts.journal, ref, origin);
  try {
    const execution = await runExecutor(definition, envelope.directive, {
      lane: envelope.lane ?? '',
      attempt,
      signal: handle.signal,
      remainingMs: remaining(claimed),
      traceparent: origin.traceparent,
      idempotencyKey: idempotencyKey(ref),
      report: reporter.report,
    });
    return { execution, stop: handle.stopReason() };
  } finally {
    await finishReports(reporter);
    clearTimeout(deadline);
    unwatch();
    handle.end();
  }
}

async function finishReports(reporter: Reporter): Promise<void> {
  await reporter.settled().catch(() => {});
}

/** Stable over all attempts, and short enough for any header. */
function idempotencyKey({ requestId, id }: ClaimRef): string {
  return hash('sha256', `${requestId}/${id}`, 'hex').slice(0, 32);
}

/** Writes the outcome; from here on nothing is lost, so it is repeated until Redis answers. */
async function record(
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
  const verdict = await persistently(
    () => parts.journal.release(claimed.claim, delayMs),
    parts.running.givenUp,
  );
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
  const bounded = boundResult(full, parts.resultBound);
  const { result } = bounded;
  const cut = bounded.truncated === null ? {} : { result_truncated_bytes: bounded.truncated };
  const metadata = attemptMetadata(claimed, { ...facts, ...cut });
  // Content speaks of a success; an error that was decided here has words of its own.
  const read = result.ok && bounded.truncated === null ? content : undefined;
  const signal = terminalSignal(envelope.directive, result, origin, metadata, systemStamp, read);
  const status = result.ok ? 'succeeded' : 'failed';
  const verdict = await persistently(
    () => parts.journal.finish(ref, status, [signal]),
    parts.running.givenUp,
  );
  if (verdict.kind === 'stale')
    parts.logger.warn({ ...ref }, 'the claim was taken over; this attempt says nothing');
  else settle(parts, envelope, result.ok ? null : result.error.type);
  return DONE;
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
  const verdict = await persistently(
    () => parts.journal.retry(ref, delayMs, [signal]),
    parts.running.givenUp,
  );
  // Cancelled while it ran, and failed by itself first: there is no next attempt to wait for.
  if (verdict.kind === 'cancelled') return recordCancelled(parts, claimed, facts);
  return verdict.kind === 'waiting' ? { kind: 'later', at: Date.now() + delayMs } : DONE;
}

/** `lost`: a worker died during the attempt that was to be aborted. */
async function endCancelled(
  parts: AttemptParts,
  envelope: Envelope,
  definition: QueuedDefinition,
  lost: boolean,
): Promise<JobOutcome> {
  const { request_id: requestId, id } = envelope.directive;
  const mayHaveRun = lost && (await effectOf({ definition, envelope })) === 'once';
  return endWithout(parts, envelope, cancelledError(await cancelReason(parts, requestId, id), mayHaveRun));
}

/** Ends a directive that gets no attempt. */
async function endWithout(
  parts: AttemptParts,
  envelope: Envelope,
  error: ErrorEnvelope,
): Promise<JobOutcome> {
  const { directive, traceparent } = envelope;
  const { request_id: requestId, id } = directive;
  const signal = terminalSignal(directive, errorResult(error), { requestId, causationId: id, traceparent });
  await persistently(
    () => parts.journal.endUnclaimed(requestId, id, 'failed', [signal]),
    parts.running.givenUp,
  );
  settle(parts, envelope, error.type);
  return DONE;
}
