// prune_messages: older tool results shrink to a note.
// Must never take a tool call out of the history.
import { pruneToolResults } from '../compaction.ts';
import type { ControlHandler } from './control-context.ts';

export const pruneMessages: ControlHandler<'prune_messages'> = (context, { params }) => {
  context.messages = pruneToolResults(context.messages, params.keep_recent).messages;
};
