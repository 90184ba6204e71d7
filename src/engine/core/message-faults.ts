// What is wrong with messages that a user's strategy gives.
// Must never change them: they are taken as they are, or not at all.
import * as z from 'zod';
import { boundedErrors, fieldErrors } from '../../contract/field-error.ts';
import { fieldSentence } from '../../contract/field-sentence.ts';
import { messageSchema } from '../../contract/message.ts';

const messagesSchema = z.array(messageSchema);

/** Each with its path; nothing given is nothing wrong. */
export function messageFaults(messages: unknown, path: string): string[] {
  if (messages === undefined) return [];
  const parsed = messagesSchema.safeParse(messages);
  if (parsed.success) return [];
  return boundedErrors(fieldErrors(parsed.error, path)).map((fault) => fieldSentence(fault));
}
