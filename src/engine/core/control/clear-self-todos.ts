// clear_self_todos: the list of things to do goes out of the model's sight.
// Must never touch another anchor.
import { without } from '../run-state.ts';
import type { ControlHandler } from './control-context.ts';

/** The anchor that `todo_state_changed` sets. */
const TODO_ANCHOR = 'todo_state';

export const clearSelfTodos: ControlHandler<'clear_self_todos'> = (context) => {
  context.anchors = without(context.anchors, TODO_ANCHOR);
};
