// Decides what an attempt's execution means for its directive: the end, another attempt, or giving it back.
// Must never do I/O; the clock and chance are handed in.
import { cancelledError, deadlineExceededError } from '../contract/cancellation.ts';
import type { Directive } from '../contract/directive.ts';
import { errorEnvelope, type ErrorEnvelope } from '../contract/error-envelope.ts';
import { errorResult, type Result } from '../contract/result.ts';
import { retryDelayMs, type RetryPolicy, retryPolicySchema } from '../contract/retry-policy.ts';
import type { WaitReason } from '../contract/waiting.ts';
import type { RepeatPolicy } from '../contract/work-directive.ts';
import type { AskedQuestions, CheaperModels, Execution } from '../executors/definition.ts';

/**
 * Why an attempt was told to stop. `lost`: somebody else ended or took over the directive. `lapsed`: before its call was sent, it
 * lost what it held under limits by key.
 */
export type StopReason = 'cancelled' | 'deadline' | 'shutdown' | 'lost' | 'lapsed';

export type Outcome =
  | { kind: 'end'; result: Result }
  | { kind: 'retry'; error: ErrorEnvelope; delayMs: number }
  /** The next attempt is another model's, at once. `cheaper`: of these, which a budget goes on with. */
  | { kind: 'fallback'; error: ErrorEnvelope; from: string; to: string; cheaper?: CheaperModels }
  /** Not counted as a failure; made again after a pause. `lane`: the pause is for the whole lane, on every worker. */
  | { kind: 'pause'; delayMs: number; lane: boolean; reason: WaitReason; detail?: string }
  /** The tool asks: the next attempt is made with the answers, or when the time for them is up. */
  | { kind: 'ask'; asks: AskedQuestions }
  /** `anew`: the next attempt makes the call, and does not ask for the end of an earlier one. */
  | { kind: 'release'; anew?: boolean }
  | { kind: 'drop' };

export interface OutcomeFacts {
  directive: Directive;
  execution: Execution;
  repeatPolicy: RepeatPolicy;
  /** The model whose turn it was, and the one that comes after it; null: there is none. */
  model: string | null;
  nextModel: string | null;
  /** Failed attempts before this one, of this model. */
  failures: number;
  /** How often this model has put the directive off. */
  pauses: number;
  stop: StopReason | null;
  /** What the caller said who cancelled it. */
  cancelReason: string | null;
  /** Time left until the deadline, milliseconds. */
  remainingMs: number;
  /** The server of the lane cannot be reached and is tried again after this time, milliseconds; null = it can. */
  unreachedForMs: number | null;
  /** A server's "slow down" holds no longer than this, milliseconds. */
  longestPauseMs: number;
  random: () => number;
}

/** When a server asks to slow down and does not say for how long. */
const DEFAULT_RATE_PAUSE_MS = 1_000;

/** A longer wait is not the whole lane's: others of it may have another model to go to, or another one's limit. */
const LONGEST_LANE_PAUSE_MS = 5_000;

/** A model that puts a directive off as often as this counts as limited for longer than it can wait. */
const MOST_PAUSES = 5;

/** How often a directive is redelivered after a worker died under it. */
export const MAX_REDELIVERIES = 3;

/** Said beside the error when the call may have happened and a repeat would do harm. */
type UnknownOutcome = { outcome?: 'unknown' };

function ended(error: ErrorEnvelope): Outcome {
  return { kind: 'end', result: errorResult(error) };
}

function outcomeUnknown(message: string): ErrorEnvelope {
  return errorEnvelope('outcome_unknown', message, { outcome: 'unknown' });
}

/** Milliseconds; null: the directive names none. */
export function deadlineOf(directive: Directive): number | null {
  return 'deadline_ms' in directive ? directive.deadline_ms : null;
}

/** The retry fields of a directive; a user's kind may have none of them, or some, or mean something else by the name. */
function retriesOf(directive: Directive): RetryPolicy {
  const read = retryPolicySchema.safeParse(directive);
  return read.success ? read.data : retryPolicySchema.parse({});
}

function retryAfterMs(error: ErrorEnvelope): number | null {
  const hint = error.details['retry_after_ms'];
  return typeof hint === 'number' && hint > 0 ? hint : null;
}

/** An attempt that was told to stop and did not succeed first. */
function stopped(
  { directive, execution, repeatPolicy: effect, cancelReason }: OutcomeFacts,
  reason: StopReason,
): Outcome {
  const mayHaveRun = effect === 'once' && execution.ambiguous === true;
  const unknown: UnknownOutcome = mayHaveRun ? { outcome: 'unknown' } : {};
  switch (reason) {
    case 'lost':
      return { kind: 'drop' };
    case 'lapsed':
      return mayHaveRun ? { kind: 'drop' } : { kind: 'release' };
    case 'cancelled':
      return ended(cancelledError(cancelReason, mayHaveRun));
    case 'deadline':
      return ended(deadlineExceededError(deadlineOf(directive), unknown));
    case 'shutdown':
      return mayHaveRun && execution.resumable !== true
        ? ended(outcomeUnknown('the worker was stopped during the call: it may or may not have happened'))
        : { kind: 'release' };
  }
}

/** A call that may have happened is not repeated unless a repeat is harmless. */
function markUnrepeatable(error: ErrorEnvelope, { forgotten }: Execution): ErrorEnvelope {
  const type = forgotten === undefined ? error.type : 'outcome_unknown';
  return { ...error, type, retryable: false, details: { ...error.details, outcome: 'unknown' } };
}

export function outcomeOf(facts: OutcomeFacts): Outcome {
  const { execution, stop } = facts;
  const { result, asks } = execution;
  if (asks) return stop === null || stop === 'shutdown' ? { kind: 'ask', asks } : stopped(facts, stop);
  if (result.ok) return stop === 'lost' ? { kind: 'drop' } : { kind: 'end', result };
  if (stop) return stopped(facts, stop);
  if (execution.resumable) return { kind: 'release' };
  // As if the worker that made the call had died just now.
  if (execution.forgotten === 'earlier' && facts.repeatPolicy !== 'once')
    return { kind: 'release', anew: true };
  const waiting = waitingOf(facts, result.error);
  if (waiting) return waiting;
  const inDoubt = execution.ambiguous === true && facts.repeatPolicy === 'once';
  const error = inDoubt ? markUnrepeatable(result.error, execution) : result.error;
  const delayMs = retryDelayOf(facts, error);
  if (delayMs !== null && delayMs < facts.remainingMs) return { kind: 'retry', error, delayMs };
  const fallback = inDoubt ? null : fallbackOf(facts, error);
  if (fallback) return fallback;
  return { kind: 'end', result: { ...result, error: delayMs === null ? error : tooLate(error, delayMs) } };
}

/** What is nobody's failure costs no retry: a server that asks to slow down, or that nobody reaches at present. */
function waitingOf(facts: OutcomeFacts, error: ErrorEnvelope): Outcome | null {
  const { unreachedForMs, remainingMs, pauses, model, execution } = facts;
  const limited = error.type === 'rate_limited';
  const delayMs = limited ? (retryAfterMs(error) ?? DEFAULT_RATE_PAUSE_MS) : unreachedForMs;
  if (delayMs === null) return null;
  const isLong = delayMs > LONGEST_LANE_PAUSE_MS || delayMs >= remainingMs || pauses >= MOST_PAUSES;
  const fallback = !limited || isLong ? fallbackOf(facts, error) : null;
  if (fallback) return fallback;
  if (delayMs >= remainingMs) return null;
  const ownLimit =
    execution.pauseScope === 'directive' || (model !== null && delayMs > LONGEST_LANE_PAUSE_MS);
  const pauseMs = Math.ceil(Math.min(delayMs, facts.longestPauseMs));
  const reason = limited ? limitReason(error) : 'server_down';
  const detail = causeOf(error);
  const lane = limited && !ownLimit;
  return { kind: 'pause', delayMs: pauseMs, lane, reason, ...(detail === null ? {} : { detail }) };
}

/** Why its server is not reached, or which configured limit it met, in a few words; null: the error does not say. */
function causeOf({ type, details }: ErrorEnvelope): string | null {
  const { reason, limited_by: by, scope, model } = details;
  if (type !== 'rate_limited') return typeof reason === 'string' ? reason : null;
  if (by !== 'configuration') return null;
  return scope === 'provider' ? 'calls to the provider' : `calls to the model "${String(model)}"`;
}

/** Whose limit it is: the operator's, or that of the server or provider. */
function limitReason({ details }: ErrorEnvelope): WaitReason {
  return details['limited_by'] === 'configuration' ? 'limit_reached' : 'rate_limited';
}

/** null: it is not to be tried again, or no more often. */
function retryDelayOf({ directive, failures, random }: OutcomeFacts, error: ErrorEnvelope): number | null {
  const policy = retriesOf(directive);
  if (!error.retryable || failures >= policy.max_retries) return null;
  return retryDelayMs(policy, failures + 1, random, retryAfterMs(error));
}

/** null: no other model can help, or there is none. */
function fallbackOf(
  { execution, model, nextModel, remainingMs }: OutcomeFacts,
  error: ErrorEnvelope,
): Outcome | null {
  if (model === null || remainingMs <= 0) return null;
  const { cheaper } = execution;
  const [to] = cheaper?.models ?? [];
  if (cheaper !== undefined && to !== undefined) return { kind: 'fallback', error, from: model, to, cheaper };
  if (!execution.unavailable || nextModel === null) return null;
  return { kind: 'fallback', error, from: model, to: nextModel };
}

/** The next attempt would begin after the deadline: the error that is known says more than a late `deadline_exceeded`. */
function tooLate(error: ErrorEnvelope, delayMs: number): ErrorEnvelope {
  return {
    ...error,
    details: {
      ...error.details,
      not_retried: 'the next attempt would begin after the deadline',
      delay_ms: delayMs,
    },
  };
}

/**
 * What to do about a directive whose previous worker died during an attempt; null = make another attempt. `resumable`: that
 * asks for the end of the call, and does not repeat it. `begun`: false = no attempt was made.
 */
export function lostAttemptError(
  effect: RepeatPolicy,
  redeliveries: number,
  resumable = false,
  begun = true,
): ErrorEnvelope | null {
  if ((resumable || !begun) && redeliveries <= MAX_REDELIVERIES) return null;
  if (effect === 'once' && begun)
    return outcomeUnknown('the worker died during the call: it may or may not have happened');
  if (redeliveries <= MAX_REDELIVERIES) return null;
  return errorEnvelope('worker_lost', `${redeliveries} workers died during this directive`, { redeliveries });
}
