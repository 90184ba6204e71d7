// Decides what an attempt's execution means for its directive: the end, another attempt, or giving it back.
// Must never do I/O; the clock and chance are handed in.
import { cancelledError, deadlineExceededError } from '../../contract/directive/cancellation.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import { errorResult, type Result } from '../../contract/result.ts';
import { retryDelayMs, type RetryPolicy, retryPolicySchema } from '../../contract/directive/retry-policy.ts';
import type { WaitReason } from '../../contract/request/waiting.ts';
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { AskedQuestions, CheaperModels, Execution } from '../executors/definition.ts';
import {
  isUsedUp,
  jitteredMs,
  limitedPauseMs,
  type PauseLimits,
  type Pauses,
  refusedPauseMs,
} from './pause.ts';

/**
 * Reason why an attempt was aborted. `lost`: another process ended or took over the directive. `lapsed`: before its
 * call was sent, it lost its hold under limits by key.
 */
export type StopReason = 'cancelled' | 'deadline' | 'shutdown' | 'lost' | 'lapsed';

export type Outcome =
  | { kind: 'end'; result: Result }
  | { kind: 'retry'; error: ErrorEnvelope; delayMs: number }
  /** The next attempt is another model's, at once. `cheaper`: of these, which a budget goes on with. */
  | { kind: 'fallback'; error: ErrorEnvelope; from: string; to: string; cheaper?: CheaperModels }
  /**
   * Not counted as a failure; made again after a pause. `lane`: the pause is for the whole lane, on every worker. `refused`: the
   * number of this pause among those after a refused call; null: nothing was sent.
   */
  | {
      kind: 'pause';
      delayMs: number;
      lane: boolean;
      reason: WaitReason;
      refused: number | null;
      detail?: string;
    }
  /** The tool asks: the next attempt is made with the answers, or when the time for them is up. */
  | { kind: 'ask'; asks: AskedQuestions }
  /** `anew`: the next attempt makes the call, and does not ask for the end of an earlier one. `delayMs`: before it. Default: 0. */
  | { kind: 'release'; anew?: boolean; delayMs?: number }
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
  /** The pauses of this model, or of the tool. */
  pauses: Pauses;
  pauseLimits: PauseLimits;
  /** Milliseconds since the epoch, by the clock of Redis. */
  now: number;
  stop: StopReason | null;
  /** The reason given with the cancellation. */
  cancelReason: string | null;
  /** Time left until the deadline, milliseconds. */
  remainingMs: number;
  /** The server of the lane cannot be reached and is tried again after this time, milliseconds; null = it can. */
  unreachedForMs: number | null;
  random: () => number;
}

/** A longer wait is not the whole lane's: others of it may have another model to go to, or another one's limit. */
const LONGEST_LANE_PAUSE_MS = 5_000;

/** A model that puts a directive off as often as this counts as limited for longer than the directive can wait. */
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

function releaseOf({ againMs }: Execution): Outcome {
  return againMs === undefined ? { kind: 'release' } : { kind: 'release', delayMs: againMs };
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
      return ended(deadlineExceededError(deadlineOf(directive), unknown, execution.notBegun));
    case 'shutdown':
      return mayHaveRun && execution.resumable !== true
        ? ended(outcomeUnknown('the worker was stopped during the call: it may or may not have happened'))
        : releaseOf(execution);
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
  if (execution.resumable) return releaseOf(execution);
  // @guard unmade-call
  if (execution.unmade) return { kind: 'release', anew: true };
  // As if the worker that made the call had died just now.
  if (execution.forgotten === 'earlier' && facts.repeatPolicy !== 'once')
    return { kind: 'release', anew: true };
  const waiting = waitingOf(facts, result.error);
  if (waiting) return waiting;
  const inDoubt = execution.ambiguous === true && facts.repeatPolicy === 'once';
  const error = inDoubt ? markUnrepeatable(result.error, execution) : withPauses(facts, result.error);
  const delayMs = retryDelayOf(facts, error);
  if (delayMs !== null && delayMs < facts.remainingMs) return { kind: 'retry', error, delayMs };
  const fallback = inDoubt ? null : fallbackOf(facts, error);
  if (fallback) return fallback;
  const final = delayMs === null ? notPaused(facts, error) : tooLate(error, delayMs);
  return { kind: 'end', result: { ...result, error: final } };
}

/** A server that asks to slow down or is out of reach costs no retry, within the limits of pauses. */
function waitingOf(facts: OutcomeFacts, error: ErrorEnvelope): Outcome | null {
  const { unreachedForMs, remainingMs, pauses, pauseLimits, execution } = facts;
  const limited = error.type === 'rate_limited';
  if (limited && isUsed(facts)) return null;
  const delayMs = limited ? limitMs(facts, error) : unreachedForMs;
  if (delayMs === null) return null;
  const isRefused = limited && execution.unsent !== true;
  const isOver = isRefused && isUsedUp(pauses, pauseLimits, delayMs, facts.now);
  const isLong =
    isOver || delayMs > LONGEST_LANE_PAUSE_MS || delayMs >= remainingMs || pauses.count >= MOST_PAUSES;
  const fallback = !limited || isLong ? fallbackOf(facts, error) : null;
  if (fallback) return fallback;
  if (isOver || delayMs >= remainingMs) return null;
  const pauseMs = limited ? jitteredMs(delayMs, pauseLimits.longestMs, facts.random) : Math.ceil(delayMs);
  const refused = isRefused ? pauses.refused + 1 : null;
  const detail =
    refused === null ? causeOf(error, limited) : `pause ${refused} of at most ${pauseLimits.count}`;
  const reason = limited ? (isRefused ? 'rate_limited' : 'limit_reached') : 'server_down';
  const lane = limited && laneMs(facts, error) !== null;
  return { kind: 'pause', delayMs: pauseMs, lane, reason, refused, ...(detail === null ? {} : { detail }) };
}

/** A tool that must not be called twice has been called: its answer "slow down" is a failure like any other. */
function isUsed({ repeatPolicy, execution: { unsent, untaken } }: OutcomeFacts): boolean {
  return repeatPolicy === 'once' && unsent !== true && untaken !== true;
}

/** The wait that a limit imposes before the next call, milliseconds. */
function limitMs({ execution, pauses, failures }: OutcomeFacts, error: ErrorEnvelope): number {
  const asked = retryAfterMs(error);
  return execution.unsent === true
    ? limitedPauseMs(pauses.count, asked)
    : refusedPauseMs(pauses.refused + failures, asked);
}

/**
 * How long a limit holds for the whole lane, milliseconds: as long as its server asks, since the directive's own waits may have grown
 * for a reason that others of the lane do not share. null: it holds for the directive alone.
 */
function laneMs({ execution, model, pauseLimits }: OutcomeFacts, error: ErrorEnvelope): number | null {
  const asked = retryAfterMs(error);
  const ms = execution.unsent === true ? limitedPauseMs(0, asked) : refusedPauseMs(0, asked);
  if (execution.pauseScope === 'directive' || (model !== null && ms > LONGEST_LANE_PAUSE_MS)) return null;
  return Math.ceil(Math.min(ms, pauseLimits.longestMs));
}

/**
 * How long the whole lane leaves its server alone after this attempt, milliseconds; null: it does not. A refusal that counts as a
 * failure holds for the others of the lane, too.
 */
export function lanePauseMs(facts: OutcomeFacts, outcome: Outcome): number | null {
  const { result, unsent } = facts.execution;
  if (result.ok || result.error.type !== 'rate_limited') return null;
  const hasFailed = outcome.kind === 'retry' || outcome.kind === 'end';
  const isPaused = outcome.kind === 'pause' && outcome.lane;
  return isPaused || (hasFailed && unsent !== true) ? laneMs(facts, result.error) : null;
}

/** The error that ends a directive after pauses says how many there were. */
function withPauses(
  { pauses: { refused, sinceAt }, now }: OutcomeFacts,
  error: ErrorEnvelope,
): ErrorEnvelope {
  if (error.type !== 'rate_limited' || sinceAt === null) return error;
  return { ...error, details: { ...error.details, pauses: refused, paused_ms: Math.round(now - sinceAt) } };
}

/** A refusal that ends the directive although it may pass: why there is no further pause. */
function notPaused(facts: OutcomeFacts, error: ErrorEnvelope): ErrorEnvelope {
  if (error.type !== 'rate_limited' || isUsed(facts)) return error;
  const delayMs = limitMs(facts, error);
  if (delayMs >= facts.remainingMs) return tooLate(error, delayMs);
  return { ...error, details: { ...error.details, not_retried: 'limits.pauses allows no further pause' } };
}

/** Why its server is not reached, or which configured limit it met, in a few words; null: the error does not say. */
function causeOf({ details }: ErrorEnvelope, limited: boolean): string | null {
  const { reason, scope, model } = details;
  if (!limited) return typeof reason === 'string' ? reason : null;
  return scope === 'provider' ? 'calls to the provider' : `calls to the model "${String(model)}"`;
}

/** null: it is not to be tried again, or no more often. */
function retryDelayOf(facts: OutcomeFacts, error: ErrorEnvelope): number | null {
  const { directive, failures, random } = facts;
  const policy = retriesOf(directive);
  if (!error.retryable || failures >= policy.max_retries) return null;
  const asked = error.type === 'rate_limited' ? limitMs(facts, error) : retryAfterMs(error);
  return retryDelayMs(policy, failures + 1, random, asked);
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
 * The error that ends a directive whose previous worker died during an attempt; null: make another attempt.
 * `resumable`: that attempt asks for the end of the call, and does not repeat it. `begun`: false: no attempt was made.
 */
export function lostAttemptError(
  effect: RepeatPolicy,
  redeliveries: number,
  resumable = false,
  begun = true,
): ErrorEnvelope | null {
  if ((resumable || !begun) && redeliveries <= MAX_REDELIVERIES) return null;
  // @guard effect-policy
  if (effect === 'once' && begun)
    return outcomeUnknown('the worker died during the call: it may or may not have happened');
  if (redeliveries <= MAX_REDELIVERIES) return null;
  return errorEnvelope('worker_lost', `${redeliveries} workers died during this directive`, { redeliveries });
}
