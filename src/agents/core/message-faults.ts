// Finds faults in messages that a user's strategy returns.
// Must never change them: they are accepted unchanged, or not at all.
import * as z from 'zod';
import { boundedErrors, fieldErrors, fieldSentence } from '../../contract/json/field-error.ts';
import { messageSchema } from '../../contract/model/message.ts';

const messagesSchema = z.array(messageSchema);

/** Each fault with its path; absent messages have none. */
export function messageFaults(messages: unknown, path: string): string[] {
  if (messages === undefined) return [];
  const parsed = messagesSchema.safeParse(messages);
  if (parsed.success) return [];
  return boundedErrors(fieldErrors(parsed.error, path)).map((fault) => fieldSentence(fault));
}
