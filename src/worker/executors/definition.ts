// A directive type as the service sees it: how it is checked, and how it is executed.
// Must never reach the journal or the queue: an executor gets a directive and returns a result.
import type { Holds } from '../../platform/bounds/while-it-holds.ts';
import type * as z from 'zod';
import type { Spender } from '../../contract/model/budget.ts';
import type { RejectedDirective } from '../../contract/run/control-directive.ts';
import type { Approver } from '../../contract/policy/policy.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import type { Result } from '../../contract/result.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { QuestionAnswer, ToolQuestion } from '../../contract/tool/tool-question.ts';
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { Withdrawal } from '../../mcp/tasks/task.ts';
import type { Attributes } from '../../platform/telemetry/traces/span.ts';

type SignalType = SignalDraft['type'];
export type SignalData<T extends SignalType> = Extract<SignalDraft, { type: T }>['data'];

/**
 * Reports a signal while an attempt runs; never waits, never throws.
 * `ai.llm.delta`: parts of one kind (of one tool call) are joined while an earlier one is being written, the order is
 * kept, and `seq` is given when they are written. `delta` is a string for `content` and `thinking`, which loses its
 * control characters as in `plainText`, and a `ToolCallDelta` for `tool_call`.
 * `ai.llm.raw`: text is joined as it is.
 * Every other type: each call replaces an unwritten one of the same type, and the next one counts the replaced in
 * `metadata.coalesced`; data above 16 KiB is cut, with its size in `metadata.truncated_bytes`.
 * The more an attempt has reported, the less often it is written; above 8 Mi characters nothing more is written, and
 * the terminal signal counts it in `metadata.unreported`.
 */
export type Report = <T extends SignalType>(type: T, data: SignalData<T>) => void;

/** A part of a tool call that a model writes: `arguments` is the added JSON text, '' at first. */
export interface ToolCallDelta {
  /** Which tool call of the turn, from 0. */
  index: number;
  id: string;
  name: string;
  arguments: string;
}

/** The last failure of a model that was given up. */
export interface CandidateFailure {
  model: string;
  type: string;
  message: string;
}

/** The models that a budget still allows for a call. */
export interface CheaperModels {
  readonly budget: string;
  /** As the configuration names it. */
  readonly alias: string;
  readonly models: readonly string[];
}

/** The place of a directive in its chain of models. */
export interface CandidateState {
  /** Index in `models` of the current model. */
  index: number;
  /** The models before it, in order. */
  history: readonly CandidateFailure[];
  /** The models that answer where a budget was too small for the chosen ones, at the end of the chain. */
  cheaper?: CheaperModels;
}

/** The record of a call that continues at the other side, so that a later attempt asks for its end. */
export interface TaskKeeping {
  /** As an earlier attempt wrote it; null: there is none, and the call is to be made. */
  readonly task: string | null;
  /** Resolves when it is written, so that it outlives this process; false: the attempt is another worker's by now. */
  keep(task: string): Promise<boolean>;
  /** Whether the next attempt goes on with it, now that this one was stopped. */
  goesOn(): boolean;
  /** Aborted when the worker begins to stop: what the other side has not begun is left to the next attempt. */
  readonly draining: AbortSignal;
  /** Milliseconds since the epoch, and until the deadline, by the clock of Redis. */
  clock(): { readonly now: number; readonly remainingMs: number };
}

/** The input of an executor for one attempt. */
export interface ExecutionContext {
  /** The lane the directive is in now. */
  lane: string;
  /** The models that may serve it, as resolved at acceptance, first choice first; empty for other types. */
  models: readonly string[];
  /** Always at index 0 for directives without models. */
  candidate: CandidateState;
  /** The owner; `default` where there are no tenants. */
  tenant: string;
  /** On whose behalf servers with personal logins are called; absent: no one's. */
  account?: string | undefined;
  /** The name of the login of that account, with which the call is made; absent: the server needs none. */
  login?: string | undefined;
  /** On whose budget models are called; absent: it was submitted without a key. */
  spender?: Spender | undefined;
  /** Counts executions of this directive, from 1. */
  attempt: number;
  /** Earlier attempts whose worker died. */
  redeliveries: number;
  /** Aborted by a cancellation, the deadline, or the worker's stop. */
  signal: AbortSignal;
  /** Time left until the directive's deadline, milliseconds. */
  remainingMs: number;
  /** W3C trace context of this attempt. */
  traceparent: string;
  /** The same for every attempt of a directive: lets the other side recognise a repeat. */
  idempotencyKey: string;
  /** Absent where nothing can be written down. */
  tasks?: TaskKeeping;
  report: Report;
  /**
   * Resolves when most of what was reported is written, at once in most cases; also when `signal` aborts. false: nothing more is written,
   * since a limit is reached or the claim is lost.
   */
  drained(): Promise<boolean>;
  /** Calls `release` once the outcome of the attempt is recorded, at once where it is: until then its result is in memory. */
  whenRecorded(release: () => void): void;
  /** The questions of the tool in an earlier attempt, with the answers; absent: none. */
  answered?: AnsweredRound;
  /**
   * Right before a call: whether what the attempt holds under limits by key is still its own, and for how long, asked as it is written;
   * null, or false then: it is not, and `signal` fires. Absent: it holds nothing.
   */
  mayBegin?: (() => Promise<Holds | null>) | undefined;
  /**
   * Asks a person while the attempt continues. Resolves with the answer, `decline` at its deadline; rejects where the
   * claim is lost. `withdrawn`: the answer is not needed any more.
   */
  ask?(asked: HeldQuestion, withdrawn: AbortSignal): Promise<QuestionAnswer>;
  /** Why the rules of the policy deny models to the tool; null: they do not. Rejects when Redis does not answer. Absent: there are no rules. */
  deniedModels?: ((asked: SampledModels) => Promise<string | null>) | undefined;
}

/** Models that a tool asks during its call. */
export interface SampledModels {
  /** Names, first choice first. */
  readonly models: readonly string[];
  /** Number of the request in its attempt, from 1. */
  readonly number: number;
  /** Models that a budget goes on with instead; null: none. With some, the request is counted already, as one of `models`. */
  readonly cheaper: readonly string[] | null;
}

/** A question of a tool whose call is held meanwhile. */
export interface HeldQuestion {
  question: ToolQuestion;
  /** The endpoint of `AskedQuestions`. */
  endpoint: string;
  /** It is declined after this time, milliseconds. */
  patienceMs: number;
}

/** The questions that must be answered before the tool can be called again. */
export interface AskedQuestions {
  questions: readonly { key: string; question: ToolQuestion }[];
  /** Responses to other requests of the round, which go back with the answers; absent: none. */
  given?: Readonly<Record<string, unknown>>;
  /** Goes back with the answers, unread; null: nothing. */
  state: string | null;
  /** Which server asks: the answers go to no other. */
  endpoint: string;
  /** They are declined after this time, milliseconds. */
  patienceMs: number;
  /** The server had lost its state, and was called anew. */
  afresh: boolean;
  /** The deadline of the directive does not pass meanwhile. Default: it does. */
  stopsDeadline?: true;
  /** Member of `QuestionRound`. */
  approver?: Approver;
}

export interface AnsweredRound extends Pick<AskedQuestions, 'state' | 'endpoint' | 'afresh' | 'given'> {
  /** From 1. */
  round: number;
  /** The answers by key. */
  answers: Readonly<Record<string, QuestionAnswer>>;
}

/** The outcome of one attempt. */
export interface Execution {
  result: Result;
  /** The text for the model, if it differs from the result as JSON (contract.md §7). */
  content?: string;
  /** Control directives that were not accepted: each becomes a `directive.rejected` before the terminal signal. */
  rejected?: readonly RejectedDirective[];
  /** The call may have been executed although no answer arrived (connection lost, timeout after sending). */
  ambiguous?: boolean;
  /** The call goes on at the other side and is written down: the next attempt asks for its end. */
  resumable?: boolean;
  /** The other side has executed it, though without an end: the attempt keeps its number where it is released. */
  isExecuted?: true;
  /** Pause before the attempt that asks for the end of the call, milliseconds. Default: none. */
  againMs?: number;
  /** A call of an earlier attempt is known not to have happened: it is made anew, and no failure is counted. */
  unmade?: true;
  /**
   * The call may continue at the other side, which could not be reached to stop it, and is recorded: `withdraw` follows
   * its end.
   */
  unwithdrawn?: boolean;
  /**
   * The other side answers no more questions about the call, so that its end stays unknown: the call of this attempt,
   * or of an earlier one.
   */
  forgotten?: 'own' | 'earlier';
  /** Reason why the call had not begun when it was stopped, for the error of a deadline. Absent: none is known. */
  notBegun?: string;
  /** The other side could not be reached; nothing was sent. */
  unreached?: boolean;
  /** This model cannot serve the directive now, another might: the next of its chain follows when retries are used up. */
  unavailable?: boolean;
  /** The extent of a rate limit: the whole lane (default), or this directive alone, as with a single model's limit. */
  pauseScope?: 'lane' | 'directive';
  /** Written directly before the terminal signal, when the result is a success and tokens were used. */
  usage?: SignalData<'ai.usage'>;
  /**
   * A budget is too small for the call: the next attempt is made with these models. `result` has the budget and the
   * reason.
   */
  cheaper?: CheaperModels;
  /** The tool asks: the next attempt brings the answers. `result` is of no importance then. */
  asks?: AskedQuestions;
  /** Nothing was sent: the call was refused before it was made. */
  unsent?: true;
  /** The other side refused the request and did nothing for it: the tool did not run, and no tokens were spent. */
  untaken?: true;
  /** Added to the terminal signal's metadata. */
  metadata?: Record<string, unknown>;
  /** Added to the span of the call, where one is made. */
  span?: Attributes;
}

/** A type that a worker executes, through the queue. */
export interface QueuedDefinition<D extends Directive = Directive> {
  mode: 'queued';
  type: D['type'];
  schema: z.ZodType;
  /** Most characters that an attempt reports. Default: 8 Mi. */
  reportCharacters?: number;
  /** Decides whether to repeat the work after its worker has died. */
  repeatPolicy(directive: D, lane: string): Promise<RepeatPolicy>;
  /**
   * The text to keep for a call whose worker died at the instant `now`, so that the next attempt finds out whether it happened.
   * null, or absent: that cannot be found out.
   */
  doubtOf?(directive: D, lane: string, now: number): string | null;
  /** How long the work waits for the approval of a person before it is begun, milliseconds; null, or absent: it needs none. */
  approvalMs?(directive: D, lane: string): number | null;
  /** Data of the signal that reports the first attempt; null = none. */
  started(directive: D): SignalDraft['data'] | null;
  execute(directive: D, context: ExecutionContext): Promise<Execution>;
  /**
   * Has the other side stop what `keep` wrote down, since the directive has ended. `away`: it does not answer at present.
   * Absent: there is nothing to stop. `account`: on whose behalf the call was made; default: no one's.
   */
  withdraw?(directive: D, lane: string, task: string, account?: string): Promise<Withdrawal>;
}

/** A type that is answered at acceptance. */
export interface ImmediateDefinition<D extends Directive = Directive> {
  mode: 'immediate';
  type: D['type'];
  schema: z.ZodType;
  execute(directive: D): Result;
}

export type DirectiveDefinition = QueuedDefinition | ImmediateDefinition;

/** Declares a directive type; the argument's type is that of its directive. */
export function defineDirective<D extends Directive>(
  definition: QueuedDefinition<D> | ImmediateDefinition<D>,
): DirectiveDefinition {
  return definition as unknown as DirectiveDefinition;
}
