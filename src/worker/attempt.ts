// One attempt of one directive: claim → execute → decide → record. The whole story on one page.
// Must never execute without a claim, nor say anything after the claim was lost.
import { hash } from 'node:crypto';
import type { Directive } from '../contract/directive.ts';
import { errorEnvelope, type ErrorEnvelope } from '../contract/error-envelope.ts';
import type { SignalDraft } from '../contract/signal.ts';
import type { Execution, QueuedDefinition } from '../executors/definition.ts';
import { decodeEnvelope, type Envelope } from '../journal/envelope.ts';
import type { ClaimRef, ClaimVerdict, Journal } from '../journal/journal.ts';
import { draftSignal, type SignalOrigin } from '../journal/signal-draft.ts';
import { directiveMetadata } from '../journal/terminal-signal.ts';
import type { JobOutcome } from '../queue/consume.ts';
import type { Ring } from '../queue/job.ts';
import { newIdentifier } from '../telemetry/identifier.ts';
import { childTraceparent } from '../telemetry/trace-context.ts';
import { type AttemptParts, cancelReason, type Claimed, DONE, effectOf, type Granted } from './claimed.ts';
import { lostAttemptError, outcomeOf, type StopReason } from './outcome.ts';
import { durably } from './durably.ts';
import { record, recordLost } from './record.ts';
import { createReporter, type Reporter } from './reporter.ts';
import { runExecutor } from './run-executor.ts';
import { endCancelled, endWithout } from './unattempted.ts';

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

function internalError(directive: Directive): ErrorEnvelope {
  return errorEnvelope('internal_error', `no executor for "${directive.type}"`);
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
  return durably(parts, () => parts.journal.claim(request));
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

/** Tells the lane's breaker whether the server was reached; null when it was. */
function noteReach({ breaker }: AttemptParts, { envelope }: Claimed, execution: Execution): number | null {
  const lane = envelope.lane ?? '';
  if (execution.unreached) return breaker.unreached(lane);
  breaker.reached(lane);
  return null;
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
      models: [],
      stage: { index: 0, history: [] },
      attempt,
      redeliveries: claimed.granted.redeliveries,
      signal: handle.signal,
      remainingMs: remaining(claimed),
      traceparent: origin.traceparent,
      idempotencyKey: idempotencyKey(ref),
      report: reporter.report,
      drained: () => Promise.resolve(),
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
