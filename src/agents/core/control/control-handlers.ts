// The handlers of control directives that a tool's result may name, by type; those that begin other agents are in delegate.ts.
// Must never apply a directive to anything but its context.
import {
  addNote,
  type ControlContext,
  type ControlHandler,
  ignoreControl,
  shownName,
  shownNames,
} from './control-context.ts';
import { without } from '../run-state.ts';
import {
  hasOwnItems,
  targetedItems,
  TODO_ANCHOR,
  TODO_NOTICE,
  todoText,
  withEmptyPlaces,
  withoutOwnGroup,
} from './todo-list.ts';
import { pruneToolResults } from '../compaction.ts';
import type { ControlDirective } from '../../../contract/run/control-directive.ts';
import { ownMember } from '../../../contract/json/json-object.ts';

/** Ignores the rest of this round of tool calls. Must never end the run: the model is called again. */
export const stopProcessing: ControlHandler<'stop_processing'> = (context) => {
  context.stopped = true;
};

/**
 * Uses another model from the next call on, by its alias. Must never choose an unknown alias: every later call would fail. The
 * model learns that nothing has changed.
 */
export const tierChange: ControlHandler<'tier_change'> = (context, { type, params }) => {
  const { tier, reason, task_state } = params;
  if (!context.isModelAlias(tier)) {
    const name = shownName(tier);
    const what = name === null ? 'a tool named no tier' : `'${name}' is not a tier`;
    addNote(context, type, `[SYSTEM] Handoff rejected: ${what}. Nothing has changed.`);
    return ignoreControl(context, type, 'unknown_tier');
  }
  const { callId, index, modelAlias: previous } = context;
  const stated = task_state === undefined ? {} : { task_state };
  const data = { call_id: callId, tier, previous, reason, ...stated, metadata: { index } };
  context.signals.push({ type: 'agent.tier_changed', data });
  context.modelAlias = tier;
};

/**
 * Removes the agent's own to-do items from the model's context; items of others stay. Must never touch another anchor.
 */
export const clearSelfTodos: ControlHandler<'clear_self_todos'> = (context) => {
  const shown = Object.hasOwn(context.anchors, TODO_ANCHOR) ? context.anchors[TODO_ANCHOR] : undefined;
  if (shown === undefined || !hasOwnItems(context.todos)) return;
  const left = targetedItems(context.todos);
  show(context, left === null ? withoutOwnGroup(shown) : todoText(left));
  if (left === null) return;
  context.todos = withEmptyPlaces(context.todos);
  const items = left.map(({ item }) => item);
  const data = { key: TODO_NOTICE, data: { items, count: items.length }, call_id: context.callId };
  context.signals.push({ type: 'presenter.notified', data });
};

/** Keeps its place among the anchors. */
function show(context: ControlContext, text: string): void {
  const { anchors } = context;
  context.anchors = text === '' ? without(anchors, TODO_ANCHOR) : { ...anchors, [TODO_ANCHOR]: text };
}

/**
 * Adds a message of the tool to the history. Must never separate a tool call from its answer: it follows the whole round.
 */
export const injectContext: ControlHandler<'inject_context'> = (context, { params }) => {
  const { role, content } = params;
  if (content !== '') context.messages = [...context.messages, { role, content }];
};

/**
 * Replaces every older tool result with a note, short ones too. Must never remove a tool call from the history.
 */
export const pruneMessages: ControlHandler<'prune_messages'> = (context, { params }) => {
  context.messages = pruneToolResults(context.messages, params.keep_recent, 'every').messages;
};

/**
 * A short text at the end of every later model call. Must never hold two texts under one key. The newest anchor comes last; an
 * empty text removes the anchor.
 */
export const contextAnchor: ControlHandler<'context_anchor'> = (context, { params }) => {
  const { key, content } = params;
  // The items of this list follow, if the tool sends them.
  if (key === TODO_ANCHOR) context.todos = null;
  const others = without(context.anchors, key);
  context.anchors = content === '' ? others : { ...others, [key]: content };
};

/** A notice for the program that shows the run to a person. Must never reach the model. */
export const notifyPresenter: ControlHandler<'notify_presenter'> = (context, { params }) => {
  const { key, data } = params;
  if (key === TODO_NOTICE) context.todos = data['items'] ?? null;
  context.signals.push({ type: 'presenter.notified', data: { key, data, call_id: context.callId } });
};

/**
 * A tool reports that the task is done. Must never lose the summary, nor what the tool reports as missing: both are the run's
 * result.
 */
export const complete: ControlHandler<'complete'> = (context, { params }) => {
  const { summary, ...details } = params;
  context.completion = { text: [summary, ...remarks(details)].join('\n\n'), details };
};

type Details = Omit<Extract<ControlDirective, { type: 'complete' }>['params'], 'summary'>;

/** Readers of the result alone, above all a parent's model, must see what is missing. */
function remarks({ coverage_gap, gap_description = '', suggested_files = [] }: Details): string[] {
  const gap = gap_description || (coverage_gap === true ? 'a part of the task' : '');
  return [
    ...(gap === '' ? [] : [`Not covered: ${gap}`]),
    ...(suggested_files.length === 0 ? [] : [`Suggested files: ${suggested_files.join(', ')}`]),
  ];
}

/** The anchor that shows the phase to the model. */
const PHASE_ANCHOR = 'phase';

/**
 * Another phase of the work begins, one of those that the agent declares. Must never be ignored silently: neither by the log
 * nor, where there are phases, by the model.
 */
export const phaseChange: ControlHandler<'phase_change'> = (context, { type, params: { phase } }) => {
  const names = Object.keys(context.phases);
  if (names.length === 0) return ignoreControl(context, type, 'no_phases');
  const text = ownMember(context.phases, phase);
  if (text === undefined) {
    const name = shownName(phase);
    const what = name === null ? 'the phase that a tool named' : `'${name}'`;
    const known = shownNames(names, ', ');
    addNote(context, type, `[SYSTEM] Phase change rejected: ${what} is not one of ${known}.`);
    return ignoreControl(context, type, 'unknown_phase');
  }
  const { callId, index, phase: previous } = context;
  const data = { call_id: callId, phase, previous, metadata: { index } };
  context.signals.push({ type: 'agent.phase_changed', data });
  context.phase = phase;
  const shown = `You are in the phase ${phase}.${text === '' ? '' : ` ${text}`}`;
  context.anchors = { ...without(context.anchors, PHASE_ANCHOR), [PHASE_ANCHOR]: shown };
};
