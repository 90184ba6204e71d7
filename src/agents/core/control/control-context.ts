// The state that the control directives of one round of tool results may change, and their outcome. Never kept between
// rounds: the strategy copies what it needs.
import type { ControlDirective, translateTodoStateChanged } from '../../../contract/run/control-directive.ts';
import type { ControlDirectiveType } from '../../../contract/run/control-params.ts';
import type { Message } from '../../../contract/model/message.ts';
import type { EmittedSignal, JsonObject } from '../../turn/transition.ts';

/** Agents that take over, one after the other; a pipeline has more than one. */
export interface Delegation {
  /** Unique in the run. */
  tag: string;
  stages: readonly string[];
  task: string;
  max_turns: number | null;
}

/** Completion of a run by the control directive `complete`. */
export interface Completion {
  /** The summary, and a text about what it does not cover. */
  text: string;
  /** The tool's other members beside the summary, unchanged. */
  details: JsonObject;
}

/** State that the control directives of one round of tool results change. */
export interface ControlContext {
  messages: readonly Message[];
  anchors: Readonly<Record<string, string>>;
  /** For later model calls; null = the agent's own model. */
  modelAlias: string | null;
  /** The directives of later calls in this round are ignored. */
  stopped: boolean;
  /** The run is complete, with this result. */
  completion: Completion | null;
  /** The to-do list as the tool last sent its items; null = it sent none. */
  todos: unknown;
  /** The phase that the run is in; null = none yet. */
  phase: string | null;
  delegations: Delegation[];
  signals: EmittedSignal[];
  /** The tool call whose result carried the directive, and the directive's place there. */
  readonly callId: string;
  readonly index: number;
  /** The types of which the model has a note in this round. */
  readonly noted: Set<string>;
  /** Depth of the run, from 0. */
  readonly depth: number;
  /** Text that the model reads while the run is in a phase, by the phase's name. Without any, phases have no effect. */
  readonly phases: Readonly<Record<string, string>>;
  isModelAlias(name: string): boolean;
}

export type ControlDirectiveOf<T extends ControlDirectiveType> = Extract<ControlDirective, { type: T }>;

/** Handler of one type of control directive. */
export type ControlHandler<T extends ControlDirectiveType> = (
  context: ControlContext,
  directive: ControlDirectiveOf<T>,
) => void;

/** Handlers that replace the built-in ones. Pure, as a strategy is. */
export type ControlHandlers = { readonly [T in HandledType]?: ControlHandler<T> };

/** Handlers that are registered one by one. */
export interface ControlHandlerRegistry extends ControlHandlers {
  /**
   * Registers the handler of a type; a second one replaces the first.
   *
   * @throws TypeError for a type that has no handler.
   */
  register<T extends HandledType>(type: T, handler: ControlHandler<T>): ControlHandlerRegistry;
}

/** The start of a round; absent members are as the run has them. */
export interface ControlOptions extends Partial<
  Pick<ControlContext, 'messages' | 'anchors' | 'modelAlias' | 'todos' | 'phase' | 'phases'>
> {
  /** Default: none. */
  handlers?: ControlHandlers;
}

/** The outcome of a round's control directives; a strategy copies what it needs. */
export type AppliedControls = Omit<
  ControlContext,
  'callId' | 'index' | 'noted' | 'depth' | 'phases' | 'isModelAlias'
>;

/** The control directives in one tool call's result. */
export interface CallControls {
  id: string;
  controls: readonly unknown[];
}

/** Types with a handler of their own; the others are first translated into these. */
export type HandledType = Exclude<ControlDirectiveType, TranslatedType>;
export type TranslatedType = Parameters<typeof translateTodoStateChanged>[0]['type'];

/** Records that the value is not a control directive. */
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

/** Records that the directive is ignored, and why. */
export function ignoreControl(context: ControlContext, type: string, reason: string): void {
  const { callId, index } = context;
  const data = { call_id: callId, directive_type: type, reason, metadata: { index } };
  context.signals.push({ type: 'directive.ignored', data });
}

/** A sentence of the service that the model reads after the round, once for each type: a result may repeat its mistake. */
export function addNote(context: ControlContext, type: string, sentence: string): void {
  if (context.noted.has(type)) return;
  context.noted.add(type);
  context.messages = [...context.messages, { role: 'user', content: sentence }];
}

const NAME = /^[\w.:/-]{1,64}$/;
const MOST_NAMES = 20;

/** null: the text is no name, and is not shown. */
export function shownName(text: string): string | null {
  return NAME.test(text) ? text : null;
}

/** A short list; the rest is counted. */
export function shownNames(names: readonly string[], between: string): string {
  const shown = names.slice(0, MOST_NAMES).join(between);
  return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
}
