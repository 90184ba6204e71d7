// One round of tool calls: all are requested at once, and their results are read together, in the order of the calls.
// Must never leave a call of the model without an answer in the history.
import { type ErrorEnvelope, errorEnvelope } from '../../contract/error-envelope.ts';
import type { ArgumentsError, Message, ToolCall } from '../../contract/model/message.ts';
import { toolContent } from '../../contract/tool/tool-content.ts';
import type { AppliedControls, Completion } from '../core/control/control-context.ts';
import { toolMessage } from '../core/history.ts';
import { countRepeats, repeatWarning } from './duplicate-calls.ts';
import type { ModelAnswer } from './model-answer.ts';
import { askModel } from './react-call.ts';
import { startDelegation } from './react-delegation.ts';
import type { ReactContext, ReactState, RoundCall } from './react-state.ts';
import { answerCall, type Step, type StrategyDirective, type StrategySignal } from './strategy.ts';
import type { JsonObject } from '../turn/transition.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';

type ToolAnswer = Extract<StrategySignal, { type: 'ai.tool.result' }>['data'];

export function startRound(
  state: ReactState,
  { message, calls }: Extract<ModelAnswer, { kind: 'tool_calls' }>,
  context: ReactContext,
): Step<ReactState> {
  const messages = [...context.messages, message];
  const fault = calls.find(({ arguments_error: error }) => error !== undefined)?.arguments_error;
  const unreadable = fault === undefined ? 0 : (state.unreadable ?? 0) + 1;
  if (fault !== undefined && unreadable > MOST_UNREADABLE) {
    const error = unreadableAgain(fault);
    return { state: { ...state, status: 'error' }, messages, outcome: { status: 'failed', error } };
  }
  const { streak, warned, stopped } = countRepeats(state.streak, calls, context.options.duplicate_calls);
  if (stopped !== null) {
    const text = `The model called \`${stopped}\` again and again with identical arguments`;
    const error = errorEnvelope('duplicate_calls', text, { tool_name: stopped });
    return { state: { ...state, status: 'error' }, messages, outcome: { status: 'failed', error } };
  }
  const asked = calls.map((call, index) => roundCall(call, `tool-${state.iteration}-${index}`, context));
  const { calls: round, directives } = beginCalls(asked, stateFor(state, asked, context));
  return {
    state: { ...state, status: 'awaiting_tool', calls: round, streak, unreadable, warn: warned },
    messages,
    directives,
  };
}

/** Answers in a row with unusable arguments of which the model reads an error; the next one ends the run. */
const MOST_UNREADABLE = 3;

function unreadableAgain({ reason, message }: ArgumentsError): ErrorEnvelope {
  const text = `The model sent unusable tool arguments in ${MOST_UNREADABLE + 1} answers in a row. ${message}`;
  return errorEnvelope('incomplete_response', text, { reason });
}

function roundCall(call: ToolCall, id: string, context: ReactContext): RoundCall {
  const { id: callId, name } = call;
  const holds = holdsBack(name, context) ? { holds: true } : {};
  return { id, call_id: callId, name, content: null, is_error: false, controls: [], ...holds, held: call };
}

export function recordResult(state: ReactState, answer: ToolAnswer, context: ReactContext): Step<ReactState> {
  const at = state.calls.findIndex((call) => call.id === answer.call_id);
  const call = state.calls[at];
  if (call === undefined || call.content !== null) return { state };
  const calls = state.calls.with(at, answered(call, answer));
  if (calls.every(({ content }) => content !== null)) return finishRound({ ...state, calls }, context);
  const isStopped = stopsRound(state, calls[at], context);
  const { calls: next, directives } = isStopped
    ? dropCalls(calls)
    : beginCalls(calls, stateFor(state, calls, context));
  return { state: { ...state, calls: next }, withdraw: isStopped ? laterCalls(calls, at) : [], directives };
}

/** Whether the directives of a result drop the calls of its round that have not begun. */
function stopsRound(state: ReactState, call: RoundCall | undefined, context: ReactContext): boolean {
  return (
    call !== undefined &&
    call.controls.length > 0 &&
    applied(state, [call], context, context.messages).stopped
  );
}

function answered(call: RoundCall, { result, content }: ToolAnswer): RoundCall {
  return {
    ...call,
    content: content ?? toolContent(result),
    is_error: !result.ok,
    controls: result.ok ? result.effects : [],
  };
}

/** Calls that have begun and wait at the gate: they are not made either. */
function laterCalls(calls: readonly RoundCall[], at: number): string[] {
  const waits = ({ content, held }: RoundCall): boolean => content === null && held === undefined;
  return calls.slice(at + 1).flatMap((call) => (waits(call) ? [call.id] : []));
}

/** All have answered: adds the results to the history, then applies the tools' control directives. */
function finishRound(state: ReactState, context: ReactContext): Step<ReactState> {
  const messages = [...context.messages, ...state.calls.map(resultMessage)];
  const controls = applied(state, state.calls, context, messages);
  const warned = withWarning(controls.messages, state.warn, context);
  const { anchors, signals, modelAlias, todos, phase } = controls;
  const next = { ...state, model_alias: modelAlias, todos, phase };
  return { anchors, signals, messages: warned, ...afterRound(next, controls, warned, context) };
}

function applied(
  { model_alias: modelAlias, todos = null, phase = null }: ReactState,
  calls: readonly RoundCall[],
  context: ReactContext,
  messages: readonly Message[],
): AppliedControls {
  const { phases } = context.options;
  return context.applyControls(calls, { messages, modelAlias, todos, phase, phases });
}

/**
 * State for a tool that may send control directives: the effects of earlier ones, also of calls of this round that have
 * answered, so that a second change of a list finds the first one. Other tools read nothing of it.
 */
function stateFor(state: ReactState, calls: readonly RoundCall[], context: ReactContext): StateOf {
  let control: JsonObject | null = null;
  const read = (): JsonObject => {
    const answered = calls.filter(({ content }) => content !== null);
    const { todos, phase, modelAlias: tier } = applied(state, answered, context, context.messages);
    return { ...(isSmall(todos) ? { todos } : {}), phase, tier };
  };
  const isTrusted = (name: string): boolean =>
    context.tools.some((tool) => tool.name === name && tool.directives !== undefined);
  return (name) => (isTrusted(name) ? { control: (control ??= read()) } : null);
}

/** A larger list is not shown: a call fails whose whole context is larger than a server gets. */
const MOST_SHOWN_CHARACTERS = 40_000;

function isSmall(todos: unknown): boolean {
  return JSON.stringify(todos ?? null).length <= MOST_SHOWN_CHARACTERS;
}

/** A tool that completes the task wins over one that delegates it. */
function afterRound(
  state: ReactState,
  { completion, delegations }: AppliedControls,
  messages: readonly Message[],
  context: ReactContext,
): Step<ReactState> {
  if (completion !== null) return completeRun(state, completion, messages, context);
  return delegations.length > 0 ? startDelegation(state, delegations) : askModel(state, context);
}

function completeRun(
  state: ReactState,
  { text, details }: Completion,
  messages: readonly Message[],
  context: ReactContext,
): Step<ReactState> {
  const history: Message[] =
    text === '' ? [...messages] : [...messages, { role: 'assistant', content: text }];
  const beside = Object.keys(details).length === 0 ? {} : { details };
  if (context.waitingInputs > 0)
    return { ...askModel(state, context), messages: history, answer: { result: text, ...beside } };
  return {
    state: { ...state, status: 'completed', calls: [] },
    messages: history,
    outcome: { status: 'completed', result: text, reason: 'completed_by_tool', ...beside },
  };
}

function resultMessage({ call_id, name, content, is_error }: RoundCall): Message {
  return toolMessage(call_id, name, content ?? '', is_error);
}

function withWarning(
  messages: readonly Message[],
  toolName: string | null,
  context: ReactContext,
): readonly Message[] {
  if (toolName === null) return messages;
  const content = repeatWarning(toolName, context.options.duplicate_calls);
  return [...messages, { role: 'user', content }];
}

/** The updated calls, and the directives of those that have just begun. */
interface Begun {
  calls: readonly RoundCall[];
  directives: readonly StrategyDirective[];
}

/** Whether later calls of a round wait for the answer of a call of this tool. */
function holdsBack(toolName: string, { options, tools }: ReactContext): boolean {
  return options.calls_in_order || tools.some((tool) => tool.name === toolName && mayChangeRound(tool));
}

/** Its server may drop the later calls, or change the to-do list that they read. */
function mayChangeRound({ directives = [] }: ListedTool): boolean {
  return directives === 'all' || CHANGING.some((type) => directives.includes(type));
}

const CHANGING = ['stop_processing', 'todo_state_changed'];

/** The part of the run's state that a tool gets beside the snapshot; null: nothing. */
type StateOf = (toolName: string) => JsonObject | null;

/** Begins every call that no earlier one blocks. */
function beginCalls(calls: readonly RoundCall[], stateOf: StateOf): Begun {
  const directives: StrategyDirective[] = [];
  let isBlocked = false;
  const next = calls.map((call) => {
    if (isBlocked) return call;
    isBlocked = call.holds === true && call.content === null;
    if (call.held === undefined) return call;
    const state = stateOf(call.name);
    directives.push(answerCall(call.id, call.held, state === null ? {} : { state }));
    return begun(call);
  });
  return { calls: next, directives };
}

/** Answers every call that has not begun with an error. */
function dropCalls(calls: readonly RoundCall[]): Begun {
  const error = errorEnvelope('cancelled', 'The call was not made: a tool stopped the round before it began');
  const directives = calls.flatMap(({ id, name, held }): StrategyDirective[] =>
    held === undefined ? [] : [{ type: 'emit_tool_error', id, tool_name: name, error }],
  );
  return { calls: calls.map(begun), directives };
}

function begun({ held: _held, ...call }: RoundCall): RoundCall {
  return call;
}
