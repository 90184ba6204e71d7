// Applies the control directives of a round of tool results, each by the handler of its type.
// Must never apply one twice: a result is read once, and a round is applied once, in the order of its calls.
import {
  type ControlDirective,
  ControlDirectiveError,
  deserializeDirective,
  translateTodoStateChanged,
} from '../../../contract/run/control-directive.ts';
import { ownMember } from '../../../contract/json/json-object.ts';
import type { EmittedSignal } from '../../turn/transition.ts';
import {
  type CallControls,
  type ControlContext,
  type ControlDirectiveOf,
  type ControlHandler,
  type ControlHandlerRegistry,
  type ControlHandlers,
  type HandledType,
  ignoreControl,
  rejectControl,
  type TranslatedType,
} from './control-context.ts';
import { delegate, pipeline } from './delegate.ts';
import {
  clearSelfTodos,
  complete,
  contextAnchor,
  injectContext,
  notifyPresenter,
  phaseChange,
  pruneMessages,
  stopProcessing,
  tierChange,
} from './control-handlers.ts';

const HANDLERS: { [T in HandledType]: ControlHandler<T> } = {
  stop_processing: stopProcessing,
  tier_change: tierChange,
  clear_self_todos: clearSelfTodos,
  inject_context: injectContext,
  prune_messages: pruneMessages,
  context_anchor: contextAnchor,
  notify_presenter: notifyPresenter,
  delegate,
  pipeline,
  complete,
  phase_change: phaseChange,
};

/**
 * Handlers of control directives that are registered by type, for `reactWith` and `applyControls`; types without one keep the
 * built-in handler.
 *
 * @example
 * const handlers = controlHandlers().register('phase_change', (context, { params }) => {
 *   context.anchors = { ...context.anchors, phase: params.phase };
 * });
 */
export function controlHandlers(): ControlHandlerRegistry {
  const handlers: Record<string, unknown> = {};
  const register = (type: string, handler: unknown): unknown => {
    if (!Object.hasOwn(HANDLERS, type))
      throw new TypeError(`no handler can be registered for the control directive "${type}"`);
    handlers[type] = handler;
    return handlers;
  };
  return Object.defineProperty(handlers, 'register', {
    value: register,
  }) as unknown as ControlHandlerRegistry;
}

/** Types that are read as others. */
const TRANSLATIONS: {
  readonly [T in TranslatedType]: (directive: ControlDirectiveOf<T>) => ControlDirectiveOf<HandledType>[];
} = { todo_state_changed: translateTodoStateChanged };

export type ControlStart = Pick<
  ControlContext,
  'messages' | 'anchors' | 'modelAlias' | 'todos' | 'phase' | 'depth' | 'phases' | 'isModelAlias'
>;

/** The handlers, and what receives the signals of the built-in ones. */
interface Dispatching {
  handlers: ControlHandlers;
  grant(signal: EmittedSignal): void;
}

const BUILT_IN_ONLY: Dispatching = { handlers: {}, grant: () => {} };

/** Applies them in the order of the calls; returns the resulting context. */
export function applyControls(
  start: ControlStart,
  calls: readonly CallControls[],
  dispatching: Dispatching = BUILT_IN_ONLY,
): ControlContext {
  let context = contextFor(start, '', 0);
  for (const { id, controls } of calls) {
    const applies = !context.stopped;
    for (const [index, raw] of controls.entries()) {
      context = { ...context, callId: id, index };
      applyOne(context, raw, applies, dispatching);
    }
  }
  return context;
}

function contextFor(start: ControlStart, callId: string, index: number): ControlContext {
  const noted = new Set<string>();
  return { ...start, stopped: false, completion: null, delegations: [], signals: [], callId, index, noted };
}

function applyOne(context: ControlContext, raw: unknown, applies: boolean, dispatching: Dispatching): void {
  const directive = read(raw);
  const own = (work: () => void): void => granting(context, dispatching, work);
  if (directive instanceof ControlDirectiveError)
    return own(() => rejectControl(context, typeOf(raw), directive.reason, directive.message));
  if (!applies) return own(() => ignoreControl(context, directive.type, 'stopped'));
  for (const one of translated(directive)) dispatch(context, one, dispatching);
}

function dispatch(
  context: ControlContext,
  directive: ControlDirectiveOf<HandledType>,
  dispatching: Dispatching,
): void {
  type Handle = (context: ControlContext, directive: ControlDirective) => void;
  const users = ownMember(dispatching.handlers, directive.type) as Handle | undefined;
  if (users) return users(context, directive);
  const handler = HANDLERS[directive.type] as Handle;
  granting(context, dispatching, () => handler(context, directive));
}

/** Signals of the service's own handlers are allowed, whatever their type. */
function granting({ signals }: ControlContext, { grant }: Dispatching, work: () => void): void {
  const before = signals.length;
  work();
  for (const signal of signals.slice(before)) grant(signal);
}

function read(raw: unknown): ControlDirective | ControlDirectiveError {
  try {
    return deserializeDirective(raw);
  } catch (error) {
    if (error instanceof ControlDirectiveError) return error;
    throw error;
  }
}

function translated(directive: ControlDirective): readonly ControlDirectiveOf<HandledType>[] {
  type Translate = (directive: ControlDirective) => ControlDirectiveOf<HandledType>[];
  const translate = ownMember(TRANSLATIONS, directive.type) as Translate | undefined;
  return translate?.(directive) ?? [directive as ControlDirectiveOf<HandledType>];
}

function typeOf(raw: unknown): string | null {
  const type = (Object(raw) as { type?: unknown }).type;
  return typeof type === 'string' ? type.slice(0, 128) : null;
}
