// clear_self_todos: removes the agent's own to-do items from the model's context; items of others stay.
// Must never touch another anchor.
import { without } from '../run-state.ts';
import type { ControlContext, ControlHandler } from './control-context.ts';
import {
  hasOwnItems,
  targetedItems,
  TODO_ANCHOR,
  TODO_NOTICE,
  todoText,
  withEmptyPlaces,
  withoutOwnGroup,
} from './todo-list.ts';

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
