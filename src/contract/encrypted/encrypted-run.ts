// The parts of a run that may be encrypted: its start, its inputs and its output; and the place of each. Two values of
// one run never share a place.
import * as z from 'zod';
import { ANSWERED, type EncodedPayload, encodedIn, type PayloadPlace } from './encrypted.ts';
import { jsonObjectSchema } from '../identifiers.ts';
import { crowdedList } from '../directive/list-bounds.ts';
import { type Message, messageSchema } from '../model/message.ts';

/** Read up to the first that is wrong: an engine reads them, and a million of them would hold all its runs. */
const messagesSchema = z
  .array(z.unknown())
  .min(1)
  .transform((given, context) => {
    const crowded = crowdedList({ messages: given });
    if (crowded) {
      context.addIssue({ code: 'custom', message: crowded.message });
      return z.NEVER;
    }
    const read: Message[] = [];
    for (const each of given) {
      const message = messageSchema.safeParse(each);
      if (!message.success) {
        context.addIssue({ code: 'custom', path: [read.length], message: 'is no message' });
        return z.NEVER;
      }
      read.push(message.data);
    }
    return read;
  });

/**
 * Schema of the decrypted content of a start's `encrypted`: the members that its sender would have written in clear.
 */
export const runSecretsSchema = secretsAsking(z.string().min(1).max(1_000_000));

/** An agent asks its child what it likes, also nothing. */
export const childSecretsSchema = secretsAsking(z.string());

function secretsAsking(query: z.ZodString) {
  const overrides = {
    system_prompt: z.string().optional().describe("System prompt that replaces the agent's."),
    tool_context: jsonObjectSchema.optional().describe('Context passed to each tool call of the run.'),
  };
  return z
    .strictObject({
      query: query.optional().describe('Task of the run, as text.'),
      messages: messagesSchema.optional().describe('Messages that the run starts with.'),
      overrides: z
        .strictObject(overrides)
        .prefault({})
        .describe('Encrypted part of the overrides. Default: {}.'),
    })
    .refine((secrets) => (secrets.query === undefined) !== (secrets.messages === undefined));
}

/** The overrides of a run that are as secret as its messages. */
export const SECRET_OVERRIDES = ['system_prompt', 'tool_context'] as const;

/** In place of an id of a directive; none of those begins with it. */
const RUN = '@run';

/** Which run it is: what is encrypted for one agent or conversation starts no other. */
export interface SecretRun {
  readonly request_id: string;
  readonly agent: string;
  readonly conversation_id?: string | null | undefined;
}

/** Place of the encrypted content of a start. */
export function startPlace({ request_id: request, agent, conversation_id = null }: SecretRun): PayloadPlace {
  // @guard encrypted-run-agent
  return { request, id: RUN, field: 'start', call: ['run', agent, conversation_id] };
}

/** Place of the state that a run keeps between its turns. */
export function runPlaceOf(request: string, field: string): PayloadPlace {
  return { request, id: RUN, field, call: ANSWERED };
}

/** The arguments of a call that waits for approval. */
export function askPlace(request: string, callId: string): PayloadPlace {
  return { request, id: `@approval/${callId}`, field: 'arguments', call: ANSWERED };
}

/** The data of a signal. Those that a person sends are bound to their own id. */
export function signalPlace(request: string, type: string, data: object): PayloadPlace {
  const { input_id, call_id } = data as Readonly<Record<string, unknown>>;
  if (type === INPUT) return { request, id: `@input/${String(input_id)}`, field: 'data', call: [type] };
  if (type === DECISION) return { request, id: `@decision/${String(call_id)}`, field: 'data', call: [type] };
  return { request, id: RUN, field: 'data', call: [type] };
}

/** Field name of an encrypted input. */
export const INPUT = 'ai.request.input';
/** Field name of an encrypted decision. */
export const DECISION = 'ai.tool.approval_decided';

/** The messages that a conversation keeps between its runs. */
export function historyPlace(conversation: string): PayloadPlace {
  return { request: conversation, id: '@conversation', field: 'messages', call: ANSWERED };
}

/** Encrypted value that represents all messages; null: they are in clear. */
export function encodedMessages(messages: readonly object[]): EncodedPayload | null {
  return messages.length === 1 ? encodedIn(messages[0]) : null;
}
