// One execution of one claimed directive: what the executor is given, what it says, what makes it stop.
// Must never outlive its claim, nor decide what an execution means.
import { idempotencyKey } from '../../store/request/envelope.ts';
import { isOwn } from '../../store/request/questions.ts';
import { samplingRules, unapproved } from './approval.ts';
import { loginOf, refusedLogin } from './caller-login.ts';
import { tenantOf, withOwnId } from '../../contract/access/tenant.ts';
import { errorEnvelope, normalizeError } from '../../contract/error-envelope.ts';
import { errorResult } from '../../contract/result.ts';
import type { Seal } from '../../platform/encryption/encrypted-result.ts';
import type { Execution, ExecutionContext, QueuedDefinition, TaskKeeping } from '../executors/definition.ts';
import { directiveMetadata } from '../../store/log/terminal-signal.ts';
import { type AttemptParts, type Claimed, remainingMsOf } from './claimed.ts';
import { durably } from '../record/durably.ts';
import {
  isEncrypted,
  openDirective,
  type SealedPlace,
  sealExecution,
  sealSaid,
} from './encrypted-attempt.ts';
import type { Said } from '../record/pending-reports.ts';
import { lastLook } from '../gate-pass.ts';
import { whileClaimed } from './claim.ts';
import { modelsOf } from './model-candidate.ts';
import type { StopReason } from './outcome.ts';
import { createReporter, type Reporter } from '../record/reporter.ts';
import { answeredRound, heldQuestions, redisNow } from './questions.ts';
import type { AttemptHandle } from './running-attempts.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { logIds } from '../record/record.ts';
import { recordable } from '../record/result-bound.ts';

/** How an attempt went. */
export interface Executed {
  execution: Execution;
  stop: StopReason | null;
  seen: boolean;
  /** The member of `OutcomeFacts`. */
  unreachedForMs: number | null;
}

/**
 * A provider that is unreachable at present is not called, so that directives with another model continue with it at
 * once.
 */
export function stoppedLane({ breaker }: AttemptParts, { envelope, lane }: Claimed): Executed | null {
  const unreachedForMs = envelope.models ? breaker.stoppedForMs(lane) : null;
  if (unreachedForMs === null) return null;
  const error = errorEnvelope('network', `nothing in the lane ${lane} is in reach at present`);
  const execution = { result: errorResult(error), unavailable: true, unsent: true as const };
  return { execution, stop: null, seen: false, unreachedForMs };
}

/** Tells the lane's breaker whether the server was reached; null when it was. */
function noteReach({ breaker }: AttemptParts, { lane }: Claimed, execution: Execution): number | null {
  if (execution.unreached) return breaker.unreached(lane);
  breaker.reached(lane);
  return null;
}

/** Runs the executor under one abort signal: cancellation, deadline, worker stop, loss of the claim. `recording` ends with the record. */
export async function execute(
  parts: AttemptParts,
  claimed: Claimed,
  recording: DisposableStack,
): Promise<Executed> {
  const { envelope, definition, claim: ref } = claimed;
  const directive = withOwnId(envelope.directive);
  const handle = parts.running.begin(ref);
  const unwatch = parts.heartbeat.watch(ref, handle.stop, claimed.pass);
  const endDeadline = after(remainingMsOf(claimed), () => handle.stop('deadline'));
  try {
    const pending = await unapproved(parts, claimed, directive, handle);
    if (pending !== null) return unread(pending, handle);
    const login = await loginOf(parts, claimed);
    if ('execution' in login) return unread(login.execution, handle);
    const opened = isEncrypted(directive)
      ? await openDirective(parts.encryption, directive, placeOf(claimed))
      : null;
    if (opened?.kind === 'unreadable') return unread(opened.execution, handle);
    const reporter = reporterFor(parts, claimed, handle, opened?.seal ?? null);
    const tasks = taskKeeping(parts, claimed, handle);
    const said = {
      ...contextFor(claimed, handle, reporter),
      whenRecorded: (release: () => void) => (recording.disposed ? release() : recording.defer(release)),
      account: parts.logins?.accountOf(envelope) ?? undefined,
      login: login.login ?? undefined,
      tasks,
      deniedModels: samplingRules(parts, claimed, directive, handle),
      ...lastCheck(parts, claimed, handle),
    };
    const made =
      opened === null
        ? await runExecutor(definition, directive, { ...said, ...(await dialog(parts, claimed)) })
        : await runExecutor(definition, opened.directive, said);
    const asked = await refusedLogin(parts, claimed, login, made);
    const execution =
      asked ?? (opened === null ? made : await sealExecution(opened.seal, noting(opened.note, made)));
    const stop = handle.stopReason();
    const unreachedForMs = noteReach(parts, claimed, execution);
    await reporter.close();
    const whole = withUnreported(execution, reporter);
    return { execution: whole, stop, seen: reporter.hasSpoken(), unreachedForMs };
  } finally {
    endDeadline();
    unwatch();
    handle.end();
  }
}

/** A call that is made again once it is known not to have happened must not be sent late by a worker that stood still. */
function lastCheck(
  parts: AttemptParts,
  claimed: Claimed,
  handle: AttemptHandle,
): Pick<ExecutionContext, 'mayBegin'> {
  const { definition, envelope, lane } = claimed;
  const ofGate = lastLook(parts, claimed, handle);
  const isRepeated = (definition.doubtOf?.(envelope.directive, lane, 0) ?? null) !== null;
  return isRepeated ? { mayBegin: whileClaimed(parts, claimed, handle, ofGate.mayBegin) } : ofGate;
}

/** The questions of the tool, answered and possible ones. */
async function dialog(
  parts: AttemptParts,
  claimed: Claimed,
): Promise<Pick<ExecutionContext, 'answered' | 'ask'>> {
  const answered = await answeredRound(parts, claimed);
  if (answered !== undefined && isOwn(answered)) return { ask: heldQuestions(parts, claimed) };
  return { ...(answered === undefined ? {} : { answered }), ask: heldQuestions(parts, claimed) };
}

/** The owner, and the id and author of the encryption. */
function placeOf({ envelope, claim: { requestId, id } }: Claimed): SealedPlace {
  const { sealedAs = id, callersContext = false } = envelope;
  return { tenant: tenantOf(requestId), id: sealedAs, callersContext };
}

function noting(note: Readonly<Record<string, unknown>>, execution: Execution): Execution {
  return Object.keys(note).length === 0
    ? execution
    : { ...execution, metadata: { ...execution.metadata, ...note } };
}

/** Nothing was called. */
function unread(execution: Execution, handle: AttemptHandle): Executed {
  return { execution, stop: handle.stopReason(), seen: false, unreachedForMs: null };
}

/** The end says what of the attempt's words is not in the log. */
function withUnreported(execution: Execution, reporter: Reporter): Execution {
  const unreported = reporter.unreported();
  return unreported === null ? execution : { ...execution, metadata: { ...execution.metadata, unreported } };
}

function contextFor(
  claimed: Claimed,
  { signal }: AttemptHandle,
  { report, drained }: Reporter,
): Omit<ExecutionContext, 'whenRecorded'> {
  const { envelope, lane, candidate, attempt, granted, origin, claim: ref } = claimed;
  const { index, history, cheaper } = candidate;
  return {
    lane,
    models: modelsOf(claimed),
    candidate: { index, history, ...(cheaper === undefined ? {} : { cheaper }) },
    spender: envelope.spender,
    tenant: tenantOf(ref.requestId),
    attempt,
    redeliveries: granted.redeliveries,
    signal,
    remainingMs: remainingMsOf({ granted }),
    traceparent: origin.traceparent,
    idempotencyKey: idempotencyKey(ref),
    report,
    drained,
  };
}

/** A task is written under this claim, so that only the worker whose call it is can leave it to the next one. */
function taskKeeping(parts: AttemptParts, claimed: Claimed, handle: AttemptHandle): TaskKeeping {
  const { claim: ref, granted } = claimed;
  return {
    // @guard task-resumed
    task: granted.task,
    async keep(task) {
      const verdict = await durably(parts, () => parts.records.journal.keepTask(ref, task));
      if (verdict === 'stale') handle.stop('lost');
      return verdict === 'kept';
    },
    goesOn: () => handle.stopReason() === 'shutdown' || handle.stopReason() === 'lost',
    draining: parts.running.draining,
    clock() {
      const now = redisNow(claimed);
      return { now, remainingMs: claimed.granted.deadlineAt - now };
    },
  };
}

function reporterFor(
  { records, running, logger }: AttemptParts,
  { claim: ref, origin, envelope, definition }: Claimed,
  handle: AttemptHandle,
  seal: Seal | null,
): Reporter {
  return createReporter({
    log: records.journal.log,
    claim: ref,
    origin,
    correlation: directiveMetadata(envelope.directive),
    ...(seal === null ? {} : { protect: async (said: Said) => sealSaid(seal, said) }),
    mostCharacters: definition.reportCharacters,
    signal: handle.signal,
    givenUp: running.givenUp,
    onLost: () => handle.stop('lost'),
    onError: (error) =>
      logger.warn(
        { ...logIds({ claim: ref, envelope }), error: String(error) },
        'what an attempt says cannot be written',
      ),
  });
}

const SHARED_STEP_MS = 1_000;

/** Calls `then` after `ms`: at first in whole seconds. Returns how to end it. */
export function after(ms: number, then: () => void): () => void {
  if (ms <= SHARED_STEP_MS) {
    const only = setTimeout(then, ms);
    return () => clearTimeout(only);
  }
  const endsAt = performance.now() + ms;
  let timer = setTimeout(last, ms - (ms % SHARED_STEP_MS));
  function last(): void {
    const leftMs = endsAt - performance.now();
    if (leftMs <= 0) then();
    else timer = setTimeout(then, leftMs);
  }
  return () => clearTimeout(timer);
}

/** An executor that ignores its abort is left behind after this time; what it says later is not heard. */
const ABORT_GRACE_MS = 2_000;

export async function runExecutor(
  definition: QueuedDefinition,
  directive: Directive,
  context: ExecutionContext,
): Promise<Execution> {
  if (context.signal.aborted) return notBegun();
  const patience = patienceFor(context.signal);
  try {
    return recordable(await Promise.race([definition.execute(directive, context), patience.exhausted]));
  } catch (error) {
    // The call may have been made before the code broke.
    return { result: errorResult(normalizeError(error, 'exception', 'the executor broke')), ambiguous: true };
  } finally {
    patience.end();
  }
}

/** `exhausted` comes some time after the abort: a slot, a stop and a directive must not wait for deaf code. */
function patienceFor(signal: AbortSignal): { exhausted: Promise<Execution>; end(): void } {
  const { promise, resolve } = Promise.withResolvers<Execution>();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => resolve(leftBehind()), ABORT_GRACE_MS);
  };
  signal.addEventListener('abort', begin, { once: true });
  return {
    exhausted: promise,
    end() {
      signal.removeEventListener('abort', begin);
      clearTimeout(timer);
    },
  };
}

function notBegun(): Execution {
  return { result: errorResult(errorEnvelope('cancelled', 'the attempt was stopped before it began')) };
}

function leftBehind(): Execution {
  const error = errorEnvelope('executor', 'the executor did not stop when it was told to');
  return { result: errorResult(error), ambiguous: true };
}
