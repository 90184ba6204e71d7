// One attempt of one directive: claim → execute → decide → record. The whole story on one page.
// Must never execute without a claim, nor write anything after the claim was lost.
import type { Directive } from '../../contract/directive/directive.ts';
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import { ticketIn } from '../../queue/flow/ticket.ts';
import { ServiceUnavailable } from '../../contract/problem.ts';
import { decodeEnvelope, type Envelope } from '../../store/request/envelope.ts';
import { isLater, LEFT_ALONE_MS } from '../../store/format.ts';
import type { Journal } from '../../store/request/journal.ts';
import { PayloadLost, wholeEnvelope } from '../../store/request/large-payloads.ts';
import type { JobOutcome } from '../../queue/consume.ts';
import { envelopeIn, type JobData } from '../../queue/job.ts';
import type { HeldJob } from '../../queue/lane-take.ts';
import { measureAttempt, measureClaim } from './attempt-measures.ts';
import {
  type AttemptParts,
  cancelReason,
  type Claimed,
  DONE,
  type Granted,
  remainingMsOf,
  repeatPolicyOf,
} from './claimed.ts';
import { reportAttempt, reportLostBefore } from './attempt-spans.ts';
import { execute, stoppedLane } from './execute.ts';
import { mayBegin, passedBack, throughGate } from '../gate-pass.ts';
import { lanePauseMs, lostAttemptError, type Outcome, outcomeOf } from './outcome.ts';
import { logIds, type Made, record, recordLost, recordRelease, recordUnbegun } from '../record/record.ts';
import { modelsOf } from './model-candidate.ts';
import { begun, claim, claimedOf, type ToClaim } from './claim.ts';
import { inPlace } from '../serial-place.ts';
import { withdrawTask } from './left-task.ts';
import { redisNow } from './questions.ts';
import { endCancelled, endExpired, endWithout } from './ended-unclaimed.ts';
import { durably, isProgrammingError, persistently } from '../record/durably.ts';
import { unrecordable } from '../record/result-bound.ts';

/** Characters of what an error says about itself. */
const LONGEST_REASON = 512;

/**
 * Handles one job: makes an attempt if the journal allows it, and says what becomes of the job. `enqueuedIn`: the lane of the
 * job; default: the one that the directive was accepted for. `held`: the claim that came with the job. Default: none.
 */
export async function attemptDirective(
  parts: AttemptParts,
  job: JobData,
  enqueuedIn?: string,
  held: HeldJob | null = null,
): Promise<JobOutcome> {
  if (parts.running.isStopped()) return putOff(parts, job, enqueuedIn, held, Date.now());
  const stored = envelopeIn(job) ?? (await readEnvelope(parts.records.journal, job));
  if (!stored) return DONE;
  const lane = enqueuedIn ?? stored.lane ?? '';
  const ticket = ticketIn(stored, lane);
  const notBefore = async (at: number): Promise<JobOutcome> => {
    const later = await putOff(parts, job, enqueuedIn, held, at);
    return ticket === null ? later : passedBack(parts, job, lane, later);
  };
  // A worker of a later version takes it; without one it ends at its deadline.
  if (isLater(stored)) return notBefore(Date.now() + LEFT_ALONE_MS);
  const envelope = stored.offloaded === undefined ? stored : await restored(parts, stored);
  if (envelope === 'away') return notBefore(Date.now() + AWAY_MS);
  if (envelope === 'lost') return endWithout(parts, { envelope: stored, lane }, PAYLOAD_LOST);
  const definition = parts.registry.queued(envelope.directive.type);
  if (!definition) return endWithout(parts, { envelope, lane }, internalError(envelope.directive));
  const downForMs = parts.breaker.downForMs(lane);
  // Nobody can call its server: it waits with the others of its lane. Its start is said only if it was taken before that was known.
  if (downForMs !== null) return notBefore(Date.now() + downForMs);
  const taken: ToClaim = { envelope, lane, definition, digest: job.digest, held, pass: null };
  if (ticket === null) return attemptTaken(parts, job, taken, enqueuedIn);
  return throughGate(parts, { job, lane, ticket }, (pass) =>
    attemptTaken(parts, job, { ...taken, pass }, enqueuedIn),
  );
}

async function attemptTaken(
  parts: AttemptParts,
  job: JobData,
  taken: ToClaim,
  enqueuedIn: string | undefined,
): Promise<JobOutcome> {
  const { verdict, serial, claimedAt } = await claim(parts, taken);
  switch (verdict.kind) {
    case 'granted':
      return makeAttempt(
        parts,
        noted(parts, job, { ...claimedOf(parts, taken, verdict, claimedAt), serial }),
      );
    case 'moved':
      return enqueueElsewhere(parts, job, taken.envelope, verdict.lane);
    case 'held':
    case 'wait':
      return { kind: 'later', at: verdict.until };
    case 'stale_body':
      return retakeFromJournal(parts, job, enqueuedIn);
    case 'expired':
      // That it has not begun in time only the sweeper can tell for sure.
      return verdict.isTooLate ? DONE : endExpired(parts, taken, verdict);
    case 'cancelled':
      return endCancelled(parts, taken, verdict);
    // The sweeper removes what the index still holds of it.
    case 'unknown':
      return DONE;
    case 'ended':
      await withdrawTask(parts, taken, verdict.task);
      return DONE;
  }
}

/** A dashboard shows the attempt that the job names; the attempt does not wait for it. */
function noted({ lanes }: AttemptParts, job: JobData, claimed: Claimed): Claimed {
  const { attempt, lane } = claimed;
  if (job.attempt !== undefined && job.attempt !== attempt)
    lanes.noteAttempt(lane, job, attempt).catch(() => {});
  return claimed;
}

/** How long a directive waits for the store of large payloads until it is looked at again. */
const AWAY_MS = 2_000;

const PAYLOAD_LOST = errorEnvelope(
  'payload_lost',
  'The content of the directive is not in the store of large payloads, or was changed there',
);

async function restored(
  { records: { payloads } }: AttemptParts,
  stored: Envelope,
): Promise<Envelope | 'away' | 'lost'> {
  try {
    return await wholeEnvelope(payloads.objects, stored);
  } catch (error) {
    if (error instanceof PayloadLost) return 'lost';
    if (error instanceof ServiceUnavailable) return 'away';
    throw error;
  }
}

async function readEnvelope(journal: Journal, { request_id, id }: JobData): Promise<Envelope | null> {
  const json = await journal.envelope(request_id, id);
  return json === null ? null : decodeEnvelope(json);
}

/** The job carried another body than the journal holds: the journal's is the accepted one. */
async function retakeFromJournal(
  parts: AttemptParts,
  job: JobData,
  enqueuedIn?: string,
): Promise<JobOutcome> {
  const record = await parts.records.journal.directive(job.request_id, job.id);
  if (!record || record.digest === job.digest) return DONE;
  return attemptDirective(
    parts,
    { request_id: job.request_id, id: job.id, digest: record.digest },
    enqueuedIn,
  );
}

/** Enqueues a directive that went on to another lane: its worker may have died before it enqueued it there. */
async function enqueueElsewhere(
  { gated, running }: AttemptParts,
  job: JobData,
  envelope: Envelope,
  lane: string,
): Promise<JobOutcome> {
  await persistently(() => gated.enqueue(lane, job, envelope), running.givenUp);
  return DONE;
}

function internalError(directive: Directive): ErrorEnvelope {
  return errorEnvelope('internal_error', `no executor for "${directive.type}"`);
}

async function makeAttempt(parts: AttemptParts, taken: Claimed): Promise<JobOutcome> {
  measureClaim(parts, taken);
  const granted = await doubted(parts, taken);
  if (granted === null) return DONE;
  const ended = await endLost(parts, granted);
  if (ended) return ended;
  // What it may take until here is no part of the lease under which the call is made.
  const claimed = await begun(parts, granted);
  if (claimed === null) return DONE;
  if (claimed === 'cancelled') return recordUnbegun(parts, granted);
  return inPlace(parts, claimed, () => executeAndRecord(parts, claimed));
}

async function executeAndRecord(parts: AttemptParts, claimed: Claimed): Promise<JobOutcome> {
  if (!(await mayBegin(parts, claimed)))
    return recordRelease(parts, claimed, 0, { metadata: {}, seen: false });
  const { directive } = claimed.envelope;
  const [startedAt, begunAt] = [performance.now(), parts.spans.now()];
  const stopped = stoppedLane(parts, claimed);
  using recording = new DisposableStack();
  const { execution, stop, seen, unreachedForMs } = stopped ?? (await execute(parts, claimed, recording));
  const endedAt = parts.spans.now();
  const durationMs = Math.round(performance.now() - startedAt);
  const remainingMs = remainingMsOf(claimed) - durationMs;
  // After the call: before its first connection to the tool's server, this worker knows no annotations. After a lost claim
  // it is asked before the call, too: the answer of then, by the catalog if need be, decides whether to call at all.
  const repeatPolicy = await repeatPolicyOf(claimed);
  const facts = {
    directive,
    execution,
    repeatPolicy,
    ...placeInChain(claimed),
    stop,
    cancelReason: stop === 'cancelled' ? await cancelReason(parts, directive.request_id, directive.id) : null,
    remainingMs,
    unreachedForMs,
    pauseLimits: parts.limits.pauses,
    now: redisNow(claimed),
    random: Math.random,
  };
  const metadata = { effect: repeatPolicy, ...execution.metadata, duration_ms: durationMs };
  const outcome = outcomeOf(facts);
  measureAttempt(parts, claimed, { execution, outcome, durationMs });
  const isNumbered = seen || execution.isExecuted === true;
  const recorded = await recordInAnyCase(parts, claimed, outcome, {
    ...execution,
    metadata,
    seen: isNumbered,
  });
  await pauseLane(parts, claimed.lane, lanePauseMs(facts, outcome));
  const story = { begunAt, endedAt, called: stopped === null, execution, repeatPolicy, stop };
  reportAttempt(parts, claimed, { ...story, outcome, recorded });
  return recorded;
}

/** A lane that is not paused in time only costs another refused call. */
async function pauseLane({ lanes }: AttemptParts, lane: string, pauseMs: number | null): Promise<void> {
  if (pauseMs !== null) await lanes.pauseFor(lane, pauseMs).catch(() => {});
}

/**
 * An error while the outcome is recorded occurs again each time: this worker has the answer, so it ends the directive.
 */
async function recordInAnyCase(
  parts: AttemptParts,
  claimed: Claimed,
  outcome: Outcome,
  made: Made,
): Promise<JobOutcome> {
  try {
    return await record(parts, claimed, outcome, made);
  } catch (error) {
    if (!isProgrammingError(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    parts.logger.warn({ ...logIds(claimed), error: reason }, 'a result could not be recorded');
    const { result } = unrecordable(reason.slice(0, LONGEST_REASON));
    const { seen } = made;
    const { effect, duration_ms } = made.metadata;
    return record(parts, claimed, { kind: 'end', result }, { metadata: { effect, duration_ms }, seen });
  }
}

function placeInChain(claimed: Claimed) {
  const { candidate, granted } = claimed;
  const models = modelsOf(claimed);
  return {
    model: models[candidate.index] ?? null,
    nextModel: models[candidate.index + 1] ?? null,
    // @guard stage-accounting
    failures: granted.failures - candidate.failures,
    pauses: candidate.pauses,
  };
}

/** `lane`: that of `attemptDirective`. `at`: the next check, milliseconds since the epoch. */
async function putOff(
  parts: AttemptParts,
  job: JobData,
  lane: string | undefined,
  held: HeldJob | null,
  at: number,
): Promise<JobOutcome> {
  const later: JobOutcome = { kind: 'later', at };
  const granted = await grantedWith(parts, job, held);
  if (held === null || granted === null) return later;
  const known = knownOf(parts, job, lane, held);
  if (granted.lost && known === null) return later;
  const claimed = known && { ...claimedOf(parts, known, granted, held.askedAt), serial: false };
  const found = claimed && (await doubted(parts, claimed));
  if (claimed !== null && found === null) return DONE;
  const ended = found && (await endLost(parts, found));
  if (ended) return ended;
  const claim = { requestId: job.request_id, id: job.id, fence: granted.fence };
  const pauseMs = Math.max(0, at - Date.now());
  const released = await durably(parts, () => parts.records.journal.release(claim, pauseMs));
  if (released !== 'cancelled' || known === null) return later;
  return endCancelled(parts, known, granted);
}

/** null: no claim came with the job. */
async function grantedWith(
  { records }: AttemptParts,
  { request_id: requestId }: JobData,
  held: HeldJob | null,
): Promise<Granted | null> {
  const taken = held?.verdict ?? null;
  const verdict = taken && (await records.journal.claimedWithJob(requestId, taken));
  return verdict?.kind === 'granted' ? verdict : null;
}

/** The facts of a directive whose body comes with its claim. null: this worker does not know the type. */
function knownOf(
  { registry }: AttemptParts,
  job: JobData,
  lane: string | undefined,
  held: HeldJob,
): ToClaim | null {
  const envelope = envelopeIn(job);
  if (!envelope || isLater(envelope)) return null;
  const definition = registry.queued(envelope.directive.type);
  if (!definition) return null;
  return { envelope, lane: lane ?? envelope.lane ?? '', definition, digest: job.digest, held, pass: null };
}

/** A call that may have been under way when its worker died is asked for from now on, where that is configured. null: the claim was taken over. */
async function doubted(parts: AttemptParts, claimed: Claimed): Promise<Claimed | null> {
  const { granted, definition, envelope, lane, claim: ref } = claimed;
  if (!granted.lost || granted.task !== null || definition.doubtOf === undefined) return claimed;
  const doubt = definition.doubtOf(envelope.directive, lane, redisNow(claimed));
  if (doubt === null || (await repeatPolicyOf(claimed)) !== 'once') return claimed;
  const verdict = await durably(parts, () => parts.records.journal.keepTask(ref, doubt));
  return verdict === 'kept' ? { ...claimed, granted: { ...granted, task: doubt } } : null;
}

/** null: no worker died, or another attempt is made. */
async function endLost(parts: AttemptParts, claimed: Claimed): Promise<JobOutcome | null> {
  const { lost, lostClaim, redeliveries, task } = claimed.granted;
  if (lostClaim === null) return null;
  reportLostBefore(parts, claimed);
  const repeatPolicy = await repeatPolicyOf(claimed);
  // @guard known-task
  const error = lostAttemptError(repeatPolicy, redeliveries, task !== null, lost);
  return error && recordLost(parts, claimed, error, repeatPolicy);
}
