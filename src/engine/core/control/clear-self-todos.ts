// clear_self_todos: what the agent meant to do itself goes out of the model's sight; what others shall do stays.
// Must never touch another anchor.
import { without } from '../run-state.ts';
import type { ControlContext, ControlHandler } from './control-context.ts';
import {
  hasOwnItems,
  targetedItems,
  TODO_ANCHOR,
  TODO_NOTICE,
  todoText,
  withoutOwnGroup,
} from './todo-list.ts';

export const clearSelfTodos: ControlHandler<'clear_self_todos'> = (context) => {
  const shown = Object.hasOwn(context.anchors, TODO_ANCHOR) ? context.anchors[TODO_ANCHOR] : undefined;
  if (shown === undefined || !hasOwnItems(context.todos)) return;
  const left = targetedItems(context.todos);
  show(context, left === null ? withoutOwnGroup(shown) : todoText(left));
  if (left === null) return;
  const items = left.map(({ item }) => item);
  const data = { key: TODO_NOTICE, data: { items, count: items.length }, call_id: context.callId };
  context.signals.push({ type: 'presenter.notified', data });
};

/** In its place among the anchors. */
function show(context: ControlContext, text: string): void {
  const { anchors } = context;
  context.anchors = text === '' ? without(anchors, TODO_ANCHOR) : { ...anchors, [TODO_ANCHOR]: text };
}
