// inject_context: adds a message of the tool to the history.
// Must never separate a tool call from its answer: it follows the whole round.
import type { ControlHandler } from './control-context.ts';

export const injectContext: ControlHandler<'inject_context'> = (context, { params }) => {
  const { role, content } = params;
  if (content !== '') context.messages = [...context.messages, { role, content }];
};
