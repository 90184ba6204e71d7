// What a kind of directive is to the service: how it is checked, and how it is carried out.
// Must never reach the journal or the queue: an executor gets a directive and returns what came of it.
import type * as z from 'zod';
import type { RejectedDirective } from '../contract/control-directive.ts';
import type { Directive } from '../contract/directive.ts';
import type { Result } from '../contract/result.ts';
import type { SignalDraft } from '../contract/signal.ts';
import type { RepeatPolicy } from '../contract/work-directive.ts';

type SignalType = SignalDraft['type'];
export type SignalData<T extends SignalType> = Extract<SignalDraft, { type: T }>['data'];

/**
 * Says something while an attempt runs; never waits, never throws.
 * `ai.llm.delta`: pieces of one kind (of one tool call) are joined while an earlier one is being written, the order is
 * kept, and `seq` is given when they are written. `delta` is a string for `content` and `thinking`, which loses its
 * control characters as in `plainText`, and a `ToolCallDelta` for `tool_call`.
 * Every other type: each call replaces one of the same type that has not been written yet, and the next one says how many in
 * `metadata.coalesced`; data above 16 KiB is cut, with its size in `metadata.truncated_bytes`.
 * The more an attempt has said, the less often it is written; above 8 Mi characters nothing more is, and the terminal signal
 * says how much that was in `metadata.unreported`.
 */
export type Report = <T extends SignalType>(type: T, data: SignalData<T>) => void;

/** A piece of a tool call that a model writes: `arguments` is the JSON text that was added, '' at first. */
export interface ToolCallDelta {
  /** Which tool call of the turn, from 0. */
  index: number;
  id: string;
  name: string;
  arguments: string;
}

/** How a model was given up: what it failed with at last. */
export interface StageFailure {
  model: string;
  type: string;
  message: string;
}

/** Where a directive is in its chain of models. */
export interface CandidateState {
  /** Of the model whose turn it is, in `models`. */
  index: number;
  /** The models before it, in order. */
  history: readonly StageFailure[];
}

/** What an executor is given for one attempt. */
export interface ExecutionContext {
  /** The lane the directive is in now. */
  lane: string;
  /** The models that may serve it, as resolved when it was accepted, first choice first; empty for other kinds. */
  models: readonly string[];
  /** Always at index 0 for directives without models. */
  stage: CandidateState;
  /** Counts executions of this directive, from 1. */
  attempt: number;
  /** Attempts before this one whose worker died. */
  redeliveries: number;
  /** Aborted by a cancellation, the deadline, or the worker's stop. */
  signal: AbortSignal;
  /** Time left until the directive's deadline, milliseconds. */
  remainingMs: number;
  /** W3C trace context of this attempt. */
  traceparent: string;
  /** The same for every attempt of a directive: lets the other side recognise a repeat. */
  idempotencyKey: string;
  report: Report;
  /** Resolves when little of what was reported is still unwritten, at once in most cases; also when `signal` aborts. */
  drained(): Promise<void>;
}

/** What came of one attempt. */
export interface Execution {
  result: Result;
  /** What the model reads, where it is more than the result as JSON (contract.md §7). */
  content?: string;
  /** Control directives in the result that were not accepted: each becomes a `directive.rejected` before the terminal signal. */
  rejected?: readonly RejectedDirective[];
  /** The outside may have acted although no answer came (connection lost, timeout after sending). */
  ambiguous?: boolean;
  /** The other side could not be reached at all; nothing was sent. */
  unreached?: boolean;
  /** This model cannot serve the directive now, another might: the next of its chain is tried when retries are used up. */
  unavailable?: boolean;
  /** Whom a rate limit stops: everybody in the lane (default), or this directive alone, as with one model's own limit. */
  pauseScope?: 'lane' | 'directive';
  /** Written directly before the terminal signal, when the result is a success and tokens were used. */
  usage?: SignalData<'ai.usage'>;
  /** Added to the terminal signal's metadata. */
  metadata?: Record<string, unknown>;
}

/** A kind that is carried out by a worker, through the queue. */
export interface QueuedDefinition<D extends Directive = Directive> {
  mode: 'queued';
  type: D['type'];
  schema: z.ZodType;
  /** What a repeat would do; decides what happens after a worker died. */
  effect(directive: D, lane: string): Promise<RepeatPolicy>;
  /** Data of the signal that tells of the first attempt; null = none. */
  started(directive: D): SignalDraft['data'] | null;
  execute(directive: D, context: ExecutionContext): Promise<Execution>;
}

/** A kind that is answered when it is accepted. */
export interface ImmediateDefinition<D extends Directive = Directive> {
  mode: 'immediate';
  type: D['type'];
  schema: z.ZodType;
  execute(directive: D): Result;
}

export type DirectiveDefinition = QueuedDefinition | ImmediateDefinition;

/** Declares a kind of directive; the argument's type is that of its own directive. */
export function defineDirective<D extends Directive>(
  definition: QueuedDefinition<D> | ImmediateDefinition<D>,
): DirectiveDefinition {
  return definition as unknown as DirectiveDefinition;
}
