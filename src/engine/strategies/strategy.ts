// What a strategy is: a pure function from a signal to what the run does next.
// Must never do I/O, look at a clock or draw a random number: a turn may be worked out twice.
import type * as z from 'zod';
import type { AgentDefinition } from '../../contract/agent-definition.ts';
import type { agentDirectiveSchema } from '../../contract/agent-directive.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { Message } from '../../contract/message.ts';
import type { SignalDraft } from '../../contract/signal.ts';
import type { ListedTool } from '../../contract/tool-listing.ts';
import type { LlmEmbed, LlmStream, ToolExec } from '../../contract/work-directive.ts';
import type { AppliedControls, CallControls, ControlOptions } from '../core/control/control-context.ts';
import type { EmittedSignal, JsonObject, RunSpec } from '../transition.ts';

/** A signal as a strategy reads it: its type and data, typed by the type. The first one is `ai.request.started`. */
export type StrategySignal = SignalDraft extends infer D
  ? D extends SignalDraft
    ? Pick<D, 'type' | 'data'>
    : never
  : never;

type Absent<T> = { [K in keyof T]?: T[K] | undefined };

/**
 * A model call. Everything left out is the agent's: model, system prompt, tools, limits. Without `messages` the model is
 * given the run's history; what was said to the run in the meantime is added to either before the call starts.
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
    | 'timeout_ms'
    | 'metadata'
  >
> {
  type: 'llm_stream' | 'llm_generate';
  /** Unique in the run; the answer's `call_id`. */
  id: string;
  messages?: readonly Message[];
}

/** A tool call; it starts when the run's policies, budgets and number of calls at once allow it. */
export interface ToolCallDirective extends Absent<
  Pick<ToolExec, 'arguments' | 'context' | 'timeout_ms' | 'max_retries' | 'effect' | 'server' | 'metadata'>
> {
  type: 'tool_exec';
  id: string;
  tool_name: string;
}

/** Answers a tool call with an error, without making it: its `ai.tool.result` comes like that of any other. */
export interface ToolErrorDirective {
  type: 'emit_tool_error';
  id: string;
  tool_name: string;
  error: unknown;
  metadata?: JsonObject;
}

/** Says that the request as a whole met an error, without ending it. Nothing answers it. */
export interface RequestErrorDirective {
  type: 'emit_request_error';
  id: string;
  reason: string;
  message: string;
  metadata?: JsonObject;
}

export interface EmbedCall extends Absent<
  Pick<LlmEmbed, 'model' | 'model_alias' | 'dimensions' | 'timeout_ms' | 'metadata'>
> {
  type: 'llm_embed';
  id: string;
  texts: LlmEmbed['texts'];
}

export type AgentOwnDirective = z.input<typeof agentDirectiveSchema>;

/** A directive of a kind that `defineDirective` declared. */
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
export type StrategyDirective = WorkRequest | AgentOwnDirective | CustomDirectiveInput;

/** What a strategy may look at; all of it read-only. */
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
  /** Short texts that every model call sees at its end, by key. */
  readonly anchors: Readonly<Record<string, string>>;
  /** The agent's own state, which directives of custom kinds change; tools see it as `context.state`. */
  readonly agentState: JsonObject;
  /** Model calls so far. */
  readonly iterations: number;
  /** Things said to the run that no model call has taken up yet. An outcome ends the run without them; see `answer`. */
  readonly waitingInputs: number;
  /** Whether this installation knows the model alias. */
  isModelAlias(name: string): boolean;
  /** Obeys the control directives of a round of tool calls, in the order of the calls; what came of it is for the step. */
  applyControls(calls: readonly CallControls[], options?: ControlOptions): AppliedControls;
}

export type Outcome =
  | {
      status: 'completed';
      result: unknown;
      /** Said beside the result in the run's end. */
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

/** What came of one signal. Only `state` is required: nothing else means nothing else happens. */
export interface Step<S> {
  /** JSON; handed to the next `reduce`. */
  state: S;
  /** The history as it is from now on; absent = unchanged. */
  messages?: readonly Message[];
  /** The anchors as they are from now on; absent = unchanged. */
  anchors?: Readonly<Record<string, string>>;
  /** Done in this order. With an outcome, only agent directives and immediate ones are done. */
  directives?: readonly StrategyDirective[];
  /** Written to the run's log. Types that begin with `ai.`, `agent.` or `directive.` are refused. */
  signals?: readonly EmittedSignal[];
  /** Ids of calls that need not be made any more. Tool calls that have not started are answered with an error (`cancelled`). */
  withdraw?: readonly string[];
  /** `input`: nothing is under way on purpose; the run waits to be spoken to, and `reduce` sees `ai.request.input`. */
  awaits?: 'input';
  /** Would be the outcome, but for what waits to be read: what the run completes with if a limit keeps it from going on. */
  answer?: { result: unknown; details?: JsonObject };
  /** Ends the run; what is still under way is cancelled. */
  outcome?: Outcome;
}

/**
 * How an agent works. `init` gives the first state, `reduce` is called with `ai.request.started` and then with each answer
 * to the run's own directives, each timer that has come due and each child that has ended, in the order of the log. Answers to
 * calls that are no longer open never reach it. A run that waits for nothing any more, without an outcome, fails.
 */
export interface Strategy<S = unknown, O = JsonObject> {
  /** What agents name it by. */
  name: string;
  /** Checks the agent's `options`; absent = any. */
  options?: z.ZodType<O>;
  init(context: StrategyContext<O>): S;
  reduce(state: S, signal: StrategySignal, context: StrategyContext<O>): Step<S>;
  /** The history a run leaves behind when it ends otherwise than by an outcome of `reduce`. Default: as it is. */
  close?(state: S, context: StrategyContext<O>): readonly Message[];
}

/** A strategy of any state, as registries hold it. */
export type AnyStrategy = Strategy<unknown, JsonObject>;

/** Declares a strategy; gives it back as registries hold it. */
export function defineStrategy<S, O = JsonObject>(strategy: Strategy<S, O>): AnyStrategy {
  return strategy as unknown as AnyStrategy;
}

/** A model call of the run's own agent; streamed when the agent says so. */
export function callModel(
  context: Pick<StrategyContext, 'agent'>,
  id: string,
  options: Omit<ModelCall, 'type' | 'id'> = {},
): ModelCall {
  return { ...options, type: context.agent.stream ? 'llm_stream' : 'llm_generate', id };
}

export function callTool(
  id: string,
  toolName: string,
  toolArguments: JsonObject = {},
  options: Omit<ToolCallDirective, 'type' | 'id' | 'tool_name' | 'arguments'> = {},
): ToolCallDirective {
  return { ...options, type: 'tool_exec', id, tool_name: toolName, arguments: toolArguments };
}

/**
 * Obeys what tools ask for in their results (`ai.tool.result` data, in the order of the calls): the history and the anchors
 * with it, and what the strategy decides about: `completion`, `delegations`, `modelAlias`, `stopped`. `signals` go into the step.
 */
export function applyControls(
  context: Pick<StrategyContext, 'applyControls'>,
  answers: readonly Extract<StrategySignal, { type: 'ai.tool.result' }>['data'][],
  options: ControlOptions = {},
): AppliedControls {
  const calls = answers.map(({ call_id: id, result }) => ({ id, controls: result.ok ? result.effects : [] }));
  return context.applyControls(calls, options);
}
