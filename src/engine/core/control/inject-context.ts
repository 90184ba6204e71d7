// inject_context: a message of the tool's own in the history.
// Must never come between a tool call and its answer: it follows the whole round.
import type { ControlHandler } from './control-context.ts';

export const injectContext: ControlHandler<'inject_context'> = (context, { params }) => {
  const { role, content } = params;
  if (content !== '') context.messages = [...context.messages, { role, content }];
};
