// ReAct: calls the model, then its tools, then the model again, until it answers.
// Must never call the model while a call of its last turn has no answer.
import type { Message } from '../../contract/model/message.ts';
import type { ControlHandlers } from '../core/control/control-context.ts';
import { toolMessage } from '../core/history.ts';
import { readAnswer } from './model-answer.ts';
import { continueDelegation } from './react-delegation.ts';
import { IDLE, type ReactContext, reactOptionsSchema, type ReactState } from './react-state.ts';
import { recordResult, startRound } from './react-round.ts';
import { afterFailure, askModel } from './react-call.ts';
import { type AnyStrategy, defineStrategy, type Step, type StrategySignal } from './strategy.ts';
import { ownMember } from '../../contract/json/json-object.ts';

type SignalOf<T extends StrategySignal['type']> = Extract<StrategySignal, { type: T }>;

export interface ReactParts {
  /** A strategy named `react` replaces the built-in one. Default: react. */
  name?: string;
  /** Handlers that replace built-in ones for control directives. Default: none. */
  handlers?: ControlHandlers;
}

/** ReAct with a user's own handlers. */
export function reactWith({ name = 'react', handlers = {} }: ReactParts): AnyStrategy {
  return defineStrategy<ReactState, ReactContext['options']>({
    name,
    options: reactOptionsSchema,
    init: () => IDLE,
    reduce: (state, signal, context) => reduce(state, signal, handledBy(handlers, context)),
    close,
  });
}

export const react = reactWith({});

function handledBy(handlers: ControlHandlers, context: ReactContext): ReactContext {
  return {
    ...context,
    applyControls: (calls, options) => context.applyControls(calls, { ...options, handlers }),
  };
}

type Reaction<T extends StrategySignal['type']> = (
  state: ReactState,
  signal: SignalOf<T>,
  context: ReactContext,
) => Step<ReactState> | null;

/** Null: the machine does not wait for this signal. */
const REACTIONS: { [T in StrategySignal['type']]?: Reaction<T> } = {
  'ai.request.started': (state, _signal, context) =>
    state.status === 'idle' ? askModel(state, context) : null,
  'ai.llm.response': (state, signal, context) =>
    isCurrent(state, signal) ? onAnswer(state, signal, context) : null,
  'ai.tool.result': (state, { data }, context) =>
    state.status === 'awaiting_tool' ? recordResult(state, data, context) : null,
  'agent.child.exit': (state, { data }, context) =>
    state.status === 'awaiting_child' ? continueDelegation(state, data, context) : null,
};

function reduce(state: ReactState, signal: StrategySignal, context: ReactContext): Step<ReactState> {
  const reaction = ownMember(REACTIONS, signal.type) as Reaction<StrategySignal['type']> | undefined;
  return reaction?.(state, signal, context) ?? { state };
}

function isCurrent(state: ReactState, signal: SignalOf<'ai.llm.response'>): boolean {
  return state.status === 'awaiting_llm' && signal.data.call_id === `model-${state.iteration}`;
}

function onAnswer(
  state: ReactState,
  signal: SignalOf<'ai.llm.response'>,
  context: ReactContext,
): Step<ReactState> {
  const answer = readAnswer(signal.data.result, `call-${state.iteration}`);
  switch (answer.kind) {
    case 'failed':
      return afterFailure(state, answer.error, context);
    case 'tool_calls':
      return startRound(state, answer, context);
    case 'final': {
      const messages = answer.message ? [...context.messages, answer.message] : context.messages;
      const { reason } = answer;
      const result = answer.message === null ? textSoFar(context.messages) : answer.result;
      if (context.waitingInputs > 0) return { ...askModel(state, context), messages, answer: { result } };
      return {
        state: { ...state, status: 'completed' },
        messages,
        outcome: { status: 'completed', result, reason },
      };
    }
  }
}

/** The last text of the model since the last input: after results of tools it may end without further text. */
function textSoFar(messages: readonly Message[]): string {
  for (const message of messages.toReversed()) {
    if (message.role === 'user') break;
    if (message.role !== 'assistant') continue;
    const { content = '' } = message;
    const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : (content ?? []);
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    if (text.trim() !== '') return text;
  }
  return '';
}

/** Keeps the answers of an unfinished round that have arrived. */
function close(state: ReactState, context: ReactContext): readonly Message[] {
  const answered = state.calls.flatMap(({ call_id, name, content, is_error }) =>
    content === null ? [] : [toolMessage(call_id, name, content, is_error)],
  );
  return state.status === 'awaiting_tool' ? [...context.messages, ...answered] : context.messages;
}
