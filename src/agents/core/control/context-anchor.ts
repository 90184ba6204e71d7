// context_anchor: a short text at the end of every later model call.
// Must never hold two texts under one key.
import { without } from '../run-state.ts';
import type { ControlHandler } from './control-context.ts';
import { TODO_ANCHOR } from './todo-list.ts';

/** The newest anchor comes last; an empty text removes the anchor. */
export const contextAnchor: ControlHandler<'context_anchor'> = (context, { params }) => {
  const { key, content } = params;
  // The items of this list follow, if the tool sends them.
  if (key === TODO_ANCHOR) context.todos = null;
  const others = without(context.anchors, key);
  context.anchors = content === '' ? others : { ...others, [key]: content };
};
