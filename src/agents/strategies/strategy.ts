// A strategy: a pure function from a signal to what the run does next.
// Must never do I/O, read a clock or draw a random number: a turn may be computed twice.
import type * as z from 'zod';
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import type { agentDirectiveSchema } from '../../contract/run/agent-directive.ts';
import { type ErrorEnvelope, errorEnvelope } from '../../contract/error-envelope.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { Message, ToolCall } from '../../contract/model/message.ts';
import type { RetryPolicy } from '../../contract/directive/retry-policy.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import type { LlmEmbed, LlmStream, ToolExec } from '../../contract/directive/work-directive.ts';
import type { AppliedControls, CallControls, ControlOptions } from '../core/control/control-context.ts';
import type { EmittedSignal, JsonObject, RunSpec } from '../turn/transition.ts';

/** A signal as a strategy reads it: its type and data, typed by the type. The first one is `ai.request.started`. */
export type StrategySignal = SignalDraft extends infer D
  ? D extends SignalDraft
    ? Pick<D, 'type' | 'data'>
    : never
  : never;

type Absent<T> = { [K in keyof T]?: T[K] | undefined };

/** Retries and total time of one call; absent ones are as the agent has them. */
type RetryField = keyof RetryPolicy;

/**
 * A model call. Absent members are the agent's: model, system prompt, tools, limits. Without `messages` the call gets
 * the run's history; inputs since the last call are added to either before the call starts.
 */
export interface ModelCall extends Absent<
  Pick<
    LlmStream,
    | 'model'
    | 'model_alias'
    | 'system_prompt'
    | 'tools'
    | 'tool_choice'
    | 'max_tokens'
    | 'temperature'
    | 'reasoning'
    | 'output_schema'
    | 'provider_options'
    | 'timeout_ms'
    | RetryField
    | 'metadata'
  >
> {
  type: 'llm_stream' | 'llm_generate';
  /** Unique in the run; the answer's `call_id`. */
  id: string;
  messages?: readonly Message[];
}

/** A tool call; starts when the run's policies, budgets and limit of parallel calls allow it. */
export interface ToolCallDirective extends Absent<
  Pick<ToolExec, 'arguments' | 'context' | 'timeout_ms' | RetryField | 'effect' | 'server' | 'metadata'>
> {
  type: 'tool_exec';
  id: string;
  tool_name: string;
  /** Added to the snapshot that the tool gets as `context.state`. */
  state?: JsonObject;
}

/** Answers a tool call with an error instead of making it: its `ai.tool.result` comes like any other. */
export interface ToolErrorDirective {
  type: 'emit_tool_error';
  id: string;
  tool_name: string;
  error: unknown;
  metadata?: JsonObject;
}

/** Reports an error of the whole request without ending it. It has no answer. */
export interface RequestErrorDirective {
  type: 'emit_request_error';
  id: string;
  reason: string;
  message: string;
  metadata?: JsonObject;
}

export interface EmbedCall extends Absent<
  Pick<LlmEmbed, 'model' | 'model_alias' | 'dimensions' | 'timeout_ms' | RetryField | 'metadata'>
> {
  type: 'llm_embed';
  id: string;
  texts: LlmEmbed['texts'];
}

export type AgentOwnDirective = z.input<typeof agentDirectiveSchema>;

/** A directive of a type that `defineDirective` declared. */
export interface CustomDirectiveInput {
  type: string & {};
  id?: string;
  metadata?: JsonObject;
  [param: string]: unknown;
}

export type WorkRequest =
  | ModelCall
  | ToolCallDirective
  | ToolErrorDirective
  | RequestErrorDirective
  | EmbedCall;
/** Directive that a strategy may put into a step. */
export type StrategyDirective = WorkRequest | AgentOwnDirective | CustomDirectiveInput;

/** Context that a strategy reads. Every member is read-only. */
export interface StrategyContext<O = JsonObject> {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly spec: RunSpec;
  /** With the overrides of the run applied. */
  readonly agent: AgentDefinition;
  /** The agent's `options`, as the strategy's own schema reads them. */
  readonly options: O;
  /** The tools the run may use. */
  readonly tools: readonly ListedTool[];
  /** The history so far. */
  readonly messages: readonly Message[];
  /** Short texts at the end of every model call, by key. */
  readonly anchors: Readonly<Record<string, string>>;
  /** The agent's own state, which custom directives change; tools see it as `context.state`. */
  readonly agentState: JsonObject;
  /** Model calls so far. */
  readonly iterations: number;
  /** Inputs that no model call has read yet. An outcome ends the run without them; see `answer`. */
  readonly waitingInputs: number;
  /** Whether this installation knows the model alias. */
  isModelAlias(name: string): boolean;
  /** Applies the control directives of a round of tool calls, in the order of the calls; returns the outcome for the step. */
  applyControls(calls: readonly CallControls[], options?: ControlOptions): AppliedControls;
  /**
   * The history for a step's `messages` after a model has refused it as too long: at most 40 % of it, if need be with
   * cut tool results. Null: nothing can be made shorter.
   */
  shortenHistory(): readonly Message[] | null;
}

/** End of a run, as a strategy decides it. */
export type Outcome =
  | {
      status: 'completed';
      result: unknown;
      /** Details beside the result in the run's end. */
      details?: JsonObject;
      /** Default `final_answer`. */
      reason?: string;
    }
  | {
      status: 'failed';
      error: ErrorEnvelope;
      /** Default: the error's type. */
      reason?: string;
    };

/** The outcome of one signal. Only `state` is required; without more, nothing else happens. */
export interface Step<S> {
  /** JSON; handed to the next `reduce`. */
  state: S;
  /** The new history; absent = unchanged. */
  messages?: readonly Message[];
  /** The new anchors; absent = unchanged. */
  anchors?: Readonly<Record<string, string>>;
  /** Executed in this order. With an outcome, only agent directives and immediate ones are executed. */
  directives?: readonly StrategyDirective[];
  /** Written to the run's log. Types that begin with `ai.`, `agent.` or `directive.` are refused. */
  signals?: readonly EmittedSignal[];
  /** Ids of calls that are no longer needed. Tool calls that have not started are answered with an error (`cancelled`). */
  withdraw?: readonly string[];
  /** `input`: the run has nothing under way and waits for input; `reduce` then gets `ai.request.input`. */
  awaits?: 'input';
  /** The result if a limit ends the run: it would be the outcome, but for inputs that are still unread. */
  answer?: { result: unknown; details?: JsonObject };
  /** Ends the run; work still under way is cancelled. */
  outcome?: Outcome;
}

/**
 * How an agent works. `init` returns the first state. `reduce` is called with `ai.request.started`, then with each
 * answer to the run's own directives, each timer that fires and each child that ends, in the order of the log. It never
 * sees answers to calls that are no longer open. A run that waits for nothing, without an outcome, fails.
 */
export interface Strategy<S = unknown, O = JsonObject> {
  /** The name that agents use for it. */
  name: string;
  /** Checks the agent's `options`; absent = any. */
  options?: z.ZodType<O>;
  init(context: StrategyContext<O>): S;
  reduce(state: S, signal: StrategySignal, context: StrategyContext<O>): Step<S>;
  /** The history that a run keeps when it ends without an outcome of `reduce`. Default: as it is. */
  close?(state: S, context: StrategyContext<O>): readonly Message[];
}

/** A strategy of any state, as registries hold it. */
export type AnyStrategy = Strategy<unknown, JsonObject>;

/**
 * Declares a strategy.
 * @param strategy Name, `init` and `reduce`; `options` validates the options of agents.
 * @returns The strategy for the exports of a module.
 * @example
 * ```ts
 * import { defineStrategy } from 'adjutant/engine';
 * export const echo = defineStrategy({
 *   name: 'echo',
 *   init: () => null,
 *   reduce: (state, _signal, context) => ({
 *     state,
 *     outcome: { status: 'completed', result: context.messages.length },
 *   }),
 * });
 * ```
 */
export function defineStrategy<S, O = JsonObject>(strategy: Strategy<S, O>): AnyStrategy {
  return strategy as unknown as AnyStrategy;
}

/** A model call of the run's own agent; streamed if the agent streams. */
export function callModel(
  context: Pick<StrategyContext, 'agent'>,
  id: string,
  options: Omit<ModelCall, 'type' | 'id'> = {},
): ModelCall {
  return { ...options, type: context.agent.stream ? 'llm_stream' : 'llm_generate', id };
}

/**
 * Creates a directive that calls a tool.
 * @param id Id of the directive, unique in the run.
 * @param toolName Name of the tool, `tool` or `server.tool`.
 * @param toolArguments Arguments of the tool. Default: {}.
 * @param options Further members of the directive. Default: none.
 * @returns The directive for the `directives` of a step.
 */
export function callTool(
  id: string,
  toolName: string,
  toolArguments: JsonObject = {},
  options: Omit<ToolCallDirective, 'type' | 'id' | 'tool_name' | 'arguments'> = {},
): ToolCallDirective {
  return { ...options, type: 'tool_exec', id, tool_name: toolName, arguments: toolArguments };
}

/**
 * The directive that answers a call of the model: the call of its tool, or, where its arguments cannot be used
 * (`arguments_error`), an error that the model reads. Either ends as the `ai.tool.result` of `id`.
 */
export function answerCall(
  id: string,
  call: ToolCall,
  options: Omit<ToolCallDirective, 'type' | 'id' | 'tool_name' | 'arguments'> = {},
): ToolCallDirective | ToolErrorDirective {
  const { name, arguments: given } = call;
  const fault = unusableArguments(call);
  if (fault === null) return callTool(id, name, given as JsonObject, options);
  return { type: 'emit_tool_error', id, tool_name: name, error: fault };
}

/** The error that a model reads instead of a result of its call; null: the arguments can be used. */
export function unusableArguments(
  call: Pick<ToolCall, 'arguments' | 'arguments_error'>,
): ErrorEnvelope | null {
  const { arguments: given, arguments_error: fault } = call;
  if (fault === undefined && isObject(given)) return null;
  const message = fault?.message ?? 'The tool was not called: the arguments are not a JSON object.';
  const details = fault === undefined ? {} : { reason: fault.reason, written: fault.written };
  return errorEnvelope('validation_error', message, details);
}

/**
 * Applies the control directives in tool results (`ai.tool.result` data, in the order of the calls) to the history and
 * the anchors. The strategy decides about the rest: `completion`, `delegations`, `modelAlias`, `stopped`. `signals` go
 * into the step.
 */
export function applyControls(
  context: Pick<StrategyContext, 'applyControls'>,
  answers: readonly Extract<StrategySignal, { type: 'ai.tool.result' }>['data'][],
  options: ControlOptions = {},
): AppliedControls {
  const calls = answers.map(({ call_id: id, result }) => ({ id, controls: result.ok ? result.effects : [] }));
  return context.applyControls(calls, options);
}
