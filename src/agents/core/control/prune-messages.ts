// prune_messages: replaces every older tool result with a note, short ones too.
// Must never remove a tool call from the history.
import { pruneToolResults } from '../compaction.ts';
import type { ControlHandler } from './control-context.ts';

export const pruneMessages: ControlHandler<'prune_messages'> = (context, { params }) => {
  context.messages = pruneToolResults(context.messages, params.keep_recent, 'every').messages;
};
