// What the control directives of one round of tool results may change, and what came of them.
// Must never be kept between rounds: the strategy takes from it what it needs.
import type { ControlDirective, translateTodoStateChanged } from '../../../contract/control-directive.ts';
import type { ControlDirectiveType } from '../../../contract/control-params.ts';
import type { Message } from '../../../contract/message.ts';
import type { EmittedSignal, JsonObject } from '../../transition.ts';

/** Agents that take over, one after the other; of a pipeline more than one. */
export interface Delegation {
  /** Unique in the run. */
  tag: string;
  stages: readonly string[];
  task: string;
  max_turns: number | null;
}

export interface Completion {
  /** The summary, and in words what it does not cover. */
  text: string;
  /** What the tool said beside the summary, as it said it. */
  details: JsonObject;
}

export interface ControlContext {
  messages: readonly Message[];
  anchors: Readonly<Record<string, string>>;
  /** For the model calls from now on; null = the agent's own. */
  modelAlias: string | null;
  /** The directives of later calls of this round are not heard any more. */
  stopped: boolean;
  /** The run is complete, with this as its result. */
  completion: Completion | null;
  /** The list of things to do, as the tool that keeps it last sent its items; null = it sent none. */
  todos: unknown;
  delegations: Delegation[];
  signals: EmittedSignal[];
  /** The tool call whose result carried the directive, and its place there. */
  readonly callId: string;
  readonly index: number;
  /** Of the run, from 0. */
  readonly depth: number;
  isModelAlias(name: string): boolean;
}

export type ControlDirectiveOf<T extends ControlDirectiveType> = Extract<ControlDirective, { type: T }>;

export type ControlHandler<T extends ControlDirectiveType> = (
  context: ControlContext,
  directive: ControlDirectiveOf<T>,
) => void;

/** Handlers that take the place of the built-in ones. Pure, as a strategy is. */
export type ControlHandlers = { readonly [T in HandledType]?: ControlHandler<T> };

/** Where a round begins; what is absent is as the run has it. */
export interface ControlOptions extends Partial<
  Pick<ControlContext, 'messages' | 'anchors' | 'modelAlias' | 'todos'>
> {
  /** Default: none. */
  handlers?: ControlHandlers;
}

/** What the control directives of a round made of it; a strategy takes from it what it needs. */
export type AppliedControls = Omit<ControlContext, 'callId' | 'index' | 'depth' | 'isModelAlias'>;

/** What one tool call's result asks for. */
export interface CallControls {
  id: string;
  controls: readonly unknown[];
}

/** Types that are heard under their own name; the others are translated into these first. */
export type HandledType = Exclude<ControlDirectiveType, TranslatedType>;
export type TranslatedType = Parameters<typeof translateTodoStateChanged>[0]['type'];

/** What arrived is no control directive, and the log says so. */
export function rejectControl(
  context: ControlContext,
  type: string | null,
  reason: string,
  message: string,
): void {
  const { callId, index } = context;
  const data = { call_id: callId, index, directive_type: type, reason, message, metadata: {} };
  context.signals.push({ type: 'directive.rejected', data });
}

/** Nothing is done about the directive, and the log says why. */
export function ignoreControl(context: ControlContext, type: string, reason: string): void {
  const { callId, index } = context;
  const data = { call_id: callId, directive_type: type, reason, metadata: { index } };
  context.signals.push({ type: 'directive.ignored', data });
}
