// context_anchor: a short text that every later model call sees at its end.
// Must never hold two texts under one key.
import { without } from '../run-state.ts';
import type { ControlHandler } from './control-context.ts';
import { TODO_ANCHOR } from './todo-list.ts';

/** The newest is the last; an empty text removes. */
export const contextAnchor: ControlHandler<'context_anchor'> = (context, { params }) => {
  const { key, content } = params;
  // The items of this list come after it, if they come.
  if (key === TODO_ANCHOR) context.todos = null;
  const others = without(context.anchors, key);
  context.anchors = content === '' ? others : { ...others, [key]: content };
};
