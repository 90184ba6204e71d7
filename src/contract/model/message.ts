// The messages that a model call gets: the conversation so far.
// Must never hold what only one provider understands, except the opaque `provider_data` that it sent itself.
import * as z from 'zod';
import { jsonObjectSchema, toolNameSchema } from '../identifiers.ts';

/**
 * Data that a provider gets back with its own output (reasoning signatures, item ids), by provider, unchanged. Other
 * providers do not see it.
 */
const providerDataSchema = z.record(z.string(), jsonObjectSchema);

const mediaTypeSchema = z
  .string()
  .regex(/^[a-z]+\/[A-Za-z0-9.+*-]{1,100}$/, 'a media type such as image/png');

const base64Schema = z.string().regex(/^[A-Za-z0-9+/_-]+={0,2}$/, 'base64');

/** HTTP addresses only: the provider fetches them, not this service. */
const addressSchema = z.url({ protocol: /^https?$/, error: 'an http(s) URL' });

const textPartSchema = z.strictObject({
  type: z.literal('text').describe('Type of the part.'),
  text: z.string().describe('Text of the part.'),
  provider_data: providerDataSchema
    .optional()
    .describe('Data of the provider about the part, returned to it unchanged.'),
});

/** Either `url`, or `data` (base64). */
const imagePartSchema = z
  .strictObject({
    type: z.literal('image').describe('Type of the part.'),
    url: addressSchema.optional().describe('Address of the image. Either `url` or `data`.'),
    data: base64Schema.optional().describe('Content of the image as base64. Either `url` or `data`.'),
    media_type: mediaTypeSchema.optional().describe('Media type. Default: detected from the data.'),
  })
  .refine(hasOneSource, sourceRule());

/** Either `url`, or `data` (base64). */
const filePartSchema = z
  .strictObject({
    type: z.literal('file').describe('Type of the part.'),
    url: addressSchema.optional().describe('Address of the file. Either `url` or `data`.'),
    data: base64Schema.optional().describe('Content of the file as base64. Either `url` or `data`.'),
    media_type: mediaTypeSchema.describe('Media type of the file.'),
    filename: z.string().min(1).max(256).optional().describe('Name of the file, at most 256 characters.'),
  })
  .refine(hasOneSource, sourceRule());

/** Reasoning of an earlier turn; with its `provider_data` the provider can continue from it. */
const thinkingPartSchema = z.strictObject({
  type: z.literal('thinking').describe('Type of the part.'),
  text: z.string().describe('Reasoning of the model, as text.'),
  provider_data: providerDataSchema
    .optional()
    .describe('Data of the provider about the part, returned to it unchanged.'),
});

const toolCallPartSchema = z
  .strictObject({
    type: z.literal('tool_call').describe('Type of the part.'),
    id: z
      .string()
      .max(256)
      .describe('Id of a call in `tool_calls` of the same message. Ignored where no call has this id.'),
  })
  .describe(
    'Place of a tool call among the parts: some providers refuse a history in another order. Calls without a place follow all parts.',
  );

/** Schema of a part of a user's or tool's message. */
export const contentPartSchema = z.discriminatedUnion('type', [
  textPartSchema,
  imagePartSchema,
  filePartSchema,
]);

/** Schema of a part of the model's message. */
export const assistantPartSchema = z.discriminatedUnion('type', [
  textPartSchema,
  thinkingPartSchema,
  imagePartSchema,
  filePartSchema,
  toolCallPartSchema,
]);

/** Characters of what the model wrote that an `arguments_error` keeps. */
export const MOST_WRITTEN = 500;

const argumentsErrorSchema = z.strictObject({
  reason: z
    .enum(['cut', 'not_json', 'not_object', 'too_deep', 'too_many_values', 'inexact_number', 'forbidden_key'])
    .describe('Kind of fault. `cut`: the answer ended before it was complete, at `max_tokens` for example.'),
  message: z.string().max(1_000).describe('The fault as a sentence for the model.'),
  written: z
    .string()
    .max(MOST_WRITTEN)
    .describe(`Beginning of the text that the model wrote as arguments, at most ${MOST_WRITTEN} characters.`),
});

/** Schema of a tool call that a model asks for. */
export const toolCallSchema = z.strictObject({
  id: z.string().min(1).max(256).describe('Id of the call, at most 256 characters.'),
  name: toolNameSchema.describe('Name of the tool.'),
  arguments: jsonObjectSchema.describe('Arguments of the call.'),
  arguments_error: argumentsErrorSchema
    .optional()
    .describe(
      'Why the arguments cannot be used; the call must not be made, and `arguments` is {}. Absent: they are whole.',
    ),
  provider_data: providerDataSchema
    .optional()
    .describe('Data of the provider about the call, returned to it unchanged.'),
});

const contentSchema = z.union([z.string(), z.array(contentPartSchema)]);

const systemMessageSchema = z.strictObject({
  role: z.literal('system').describe('Role of the message.'),
  content: z.string().describe('Text of the message.'),
});
const userMessageSchema = z.strictObject({
  role: z.literal('user').describe('Role of the message.'),
  content: contentSchema.describe('Text or parts of the message.'),
});

const assistantMessageSchema = z.strictObject({
  role: z.literal('assistant').describe('Role of the message.'),
  content: z
    .union([z.string(), z.array(assistantPartSchema), z.null()])
    .optional()
    .describe('Text or parts of the message; null or absent: the message consists of tool calls only.'),
  tool_calls: z.array(toolCallSchema).optional().describe('Tool calls of the message.'),
});

/** The answer to one tool call, formatted as in contract.md §7 when it comes from an `ai.tool.result`. */
const toolMessageSchema = z.strictObject({
  role: z.literal('tool').describe('Role of the message.'),
  tool_call_id: z.string().min(1).max(256).describe('Id of the tool call that the message answers.'),
  name: toolNameSchema.optional().describe('Name of the tool. Default: the name in the call.'),
  content: contentSchema.describe("Text or parts of the tool's result."),
  is_error: z.boolean().optional().describe('Whether the tool call failed. Default: false.'),
});

/** Schema of a message. */
export const messageSchema = z.discriminatedUnion(
  'role',
  [systemMessageSchema, userMessageSchema, assistantMessageSchema, toolMessageSchema],
  { error: 'system, user, assistant or tool' },
);

/** Message of a conversation. */
export type Message = z.infer<typeof messageSchema>;
/** Message of the model: text, parts or tool calls. */
export type AssistantMessage = z.infer<typeof assistantMessageSchema>;
/** Message with the result of a tool call. */
export type ToolMessage = z.infer<typeof toolMessageSchema>;
/** Part of a user's or tool's message. */
export type ContentPart = z.infer<typeof contentPartSchema>;
/** Part of the model's message. */
export type AssistantPart = z.infer<typeof assistantPartSchema>;
/** Tool call that a model asks for. */
export type ToolCall = z.infer<typeof toolCallSchema>;
/** Fault of arguments that a model wrote. */
export type ArgumentsError = z.infer<typeof argumentsErrorSchema>;
/** Data of a provider about its own output, by provider. */
export type ProviderData = z.infer<typeof providerDataSchema>;

function hasOneSource(part: { url?: string | undefined; data?: string | undefined }): boolean {
  return (part.url === undefined) !== (part.data === undefined);
}

function sourceRule() {
  return { path: ['url'], message: 'either url or data is required, not both' };
}
