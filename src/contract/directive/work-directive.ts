// Work directives: what a caller asks to be done through the queue.
// Must never hold a rule about how the work is executed, only what a caller may request.
import * as z from 'zod';
import { directiveFields, submittedFields } from './directive-identity.ts';
import { encodingFormatSchema } from '../model/embedding.ts';
import { orEncrypted, orEncryptedObject } from '../encrypted/encrypted.ts';
import { flowFields } from './flow.ts';
import {
  jsonObjectSchema,
  positiveDurationMsSchema,
  serverNameSchema,
  toolNameSchema,
} from '../identifiers.ts';
import { hasOneBegin, LATER_RULE, LATER_RULE_JSON, type LaterFields, laterFields } from './later.ts';
import { messageSchema } from '../model/message.ts';
import { MODEL_WIRES } from '../model/model-wire.ts';
import {
  DEBOUNCE_RULE,
  hasOneOnce,
  hasOwnBegin,
  ONCE_EXCLUDED,
  ONE_ONCE_RULE,
  onceFields,
  type OnceFields,
} from './once.ts';
import { providerOptionsSchema } from '../model/provider-options.ts';
import { retryFields } from './retry-policy.ts';
import { endFields } from '../signal/webhook.ts';

/** Schema of the repeatability of a tool. */
export const repeatPolicySchema = z.enum(['read', 'idempotent', 'once']);

/** Whether the tool may be started again when it is unknown whether it ran. */
export type RepeatPolicy = z.infer<typeof repeatPolicySchema>;

/** An unknown value gives no right to repeat, so it counts as `once`. */
export function knownRepeatPolicy(effect: unknown): RepeatPolicy {
  return effect === 'read' || effect === 'idempotent' ? effect : 'once';
}

/** Fields of every directive that waits in a lane. */
const queuedFields = { ...retryFields, ...laterFields, ...flowFields, ...onceFields, ...endFields };

const toolExecFields = {
  type: z.literal('tool_exec').describe('Type of the directive: calls a tool.'),
  tool_name: toolNameSchema.describe(
    'Name of the tool, `tool` or `server.tool`; `tool` alone where `server` is given or the name is unique. 1 to 256 characters.',
  ),
  arguments: orEncryptedObject(jsonObjectSchema)
    .default({})
    .describe('Arguments of the tool, or that object encrypted. Default: {}.'),
  context: orEncryptedObject(jsonObjectSchema)
    .default({})
    .describe('Context of the call for the tool, or that object encrypted. Default: {}.'),
  timeout_ms: positiveDurationMsSchema
    .optional()
    .describe(
      'Limit of one attempt, in milliseconds; each progress notification restarts it. Default: `lane.timeout_ms` of the server, 30,000 where that is not configured.',
    ),
  ...queuedFields,
  iteration: z
    .int()
    .min(0)
    .optional()
    .describe('Turn of the agent that submits the directive, from 0. Informative.'),
  server: serverNameSchema
    .optional()
    .describe('Name of the MCP server, where `tool_name` does not contain it. 1 to 64 characters.'),
  effect: repeatPolicySchema
    .optional()
    .describe(
      'Repeatability of the call: `read`, `idempotent` or `once`. A call of a `once` tool is never repeated where it may have run. Default: as the catalog states.',
    ),
};

const contextSchema = z.union([
  z.array(messageSchema),
  z.strictObject({ messages: z.array(messageSchema).describe('Messages of the conversation.') }),
]);

/** How much the model thinks before it answers; absent = the provider's default. */
export const reasoningSchema = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']);

/** A tool the model may call: by its name in the catalog, or described here. */
const offeredToolSchema = z.strictObject({
  name: toolNameSchema.describe('Name of the tool.'),
  description: z
    .string()
    .optional()
    .describe('Description of the tool for the model. Default: the one of the catalog.'),
  input_schema: jsonObjectSchema
    .optional()
    .describe('JSON Schema of the arguments. Default: the one of the catalog.'),
});

const modelFields = {
  model: z
    .string()
    .max(256)
    .optional()
    .describe(
      'Model as `provider:model`, at most 256 characters. `model` or `model_alias` is required; `model` takes precedence.',
    ),
  model_alias: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('Alias of the model, as the configuration defines it, at most 128 characters.'),
};

const llmFields = {
  ...modelFields,
  context: orEncrypted(contextSchema).describe(
    'Messages of the conversation, or `{messages}`, or either encrypted.',
  ),
  system_prompt: orEncrypted(z.string())
    .optional()
    .describe('System prompt, or that text encrypted. Default: none.'),
  tools: z
    .array(z.union([toolNameSchema, offeredToolSchema]))
    .default([])
    .describe('Tools that the model may call, by name in the catalog or described here. Default: none.'),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.strictObject({ required: toolNameSchema.describe('Name of the tool that the model has to call.') }),
    ])
    .default('auto')
    .describe(
      'Whether the model calls tools: `auto`, `none`, `required`, or `{required: <tool>}` for a certain one. Default: `auto`.',
    ),
  max_tokens: z.int().min(1).default(1024).describe('Maximum number of output tokens. Default: 1,024.'),
  temperature: z.number().min(0).default(0.2).describe('Sampling temperature. Default: 0.2.'),
  timeout_ms: positiveDurationMsSchema
    .optional()
    .describe(
      'Limit of one attempt, in milliseconds. Default: `lane.timeout_ms` of the provider, 120,000 where that is not configured.',
    ),
  idle_timeout_ms: positiveDurationMsSchema
    .optional()
    .describe(
      'Maximum time between two chunks of a streamed answer, in milliseconds. Default: `lane.idle_timeout_ms` of the provider, 60,000 where that is not configured.',
    ),
  reasoning: reasoningSchema
    .optional()
    .describe('Reasoning effort of the model. Default: the default of the provider.'),
  output_schema: jsonObjectSchema
    .optional()
    .describe('JSON Schema that the answer satisfies. Default: none, the answer is text.'),
  provider_options: providerOptionsSchema
    .optional()
    .describe(
      'Parameters for the API of the provider, merged into the body of the request; `params` of the configuration take precedence. Fields of the contract, addresses and credentials are refused. At most 16,384 characters of JSON and 8 levels. Default: none.',
    ),
  ...queuedFields,
  iteration: z
    .int()
    .min(0)
    .optional()
    .describe('Turn of the agent that submits the directive, from 0. Informative.'),
};

const embedFields = {
  type: z.literal('llm_embed').describe('Type of the directive: computes embeddings.'),
  ...modelFields,
  texts: orEncrypted(z.union([z.string(), z.array(z.string()).min(1)])).describe(
    'Text or texts to embed, or either encrypted.',
  ),
  dimensions: z
    .int()
    .min(1)
    .optional()
    .describe('Number of values in each vector. Default: the default of the model.'),
  encoding_format: encodingFormatSchema
    .optional()
    .describe('Encoding of the vectors: `float` or `base64`. Default: `float`.'),
  provider_options: providerOptionsSchema
    .optional()
    .describe(
      'Parameters for the API of the provider, merged into the body of the request; `params` of the configuration take precedence. Default: none.',
    ),
  timeout_ms: positiveDurationMsSchema
    .optional()
    .describe(
      'Limit of one attempt, in milliseconds. Default: `lane.timeout_ms` of the provider, 120,000 where that is not configured.',
    ),
  ...queuedFields,
};

/** Values of headers and queries are short; a body has the bound of arguments. */
const passedOnSchema = z
  .record(z.string().max(64), z.string().max(1_024))
  .refine((members) => Object.keys(members).length <= 16, 'at most 16 members');

const requestFields = {
  type: z
    .literal('llm_request')
    .describe(
      "Type of the directive: sends a request to a model's provider as it is, and keeps the answer as it came.",
    ),
  ...modelFields,
  wire: z
    .enum(MODEL_WIRES)
    .describe(
      'Form of the request, which names the endpoint of the API: only providers of this form answer.',
    ),
  body: orEncrypted(z.string().min(2)).describe(
    'Body of the request as JSON text, or that text encrypted. It is sent as it is, except for the name of the model and the parameters that the configuration sets.',
  ),
  headers: passedOnSchema
    .optional()
    .describe(
      'Headers of the request that the provider reads, such as `anthropic-version`; credentials are not passed on. At most 16. Default: none.',
    ),
  query: passedOnSchema
    .optional()
    .describe('Query of the request, such as `alt` for Google. At most 16 parameters. Default: none.'),
  timeout_ms: positiveDurationMsSchema
    .optional()
    .describe(
      'Limit of one attempt, in milliseconds. Default: `lane.timeout_ms` of the provider, 120,000 where that is not configured.',
    ),
  idle_timeout_ms: positiveDurationMsSchema
    .optional()
    .describe(
      'Maximum time between two chunks of a streamed answer, in milliseconds. Default: `lane.idle_timeout_ms` of the provider, 60,000 where that is not configured.',
    ),
  ...queuedFields,
};

interface ModelChoice {
  model?: string | undefined;
  model_alias?: string | undefined;
}

/** An empty `model` names nothing: the alias decides. */
function namesModel(directive: ModelChoice): boolean {
  return Boolean(directive.model) || directive.model_alias !== undefined;
}

const MODEL_RULE = { path: ['model'], message: 'model or model_alias is required' };
/** The same rule for readers of the JSON Schema. */
const MODEL_RULE_JSON = { anyOf: [{ required: ['model'] }, { required: ['model_alias'] }] };

const EXCLUDED_JSON = { not: { anyOf: [LATER_RULE_JSON.not, ...ONCE_EXCLUDED] } };

/** Refuses combinations of fields that exclude each other. */
function queued<S extends z.ZodObject>(schema: S): S {
  return schema
    .refine((directive) => hasOneBegin(directive as LaterFields), LATER_RULE)
    .refine((directive) => hasOneOnce(directive as OnceFields), ONE_ONCE_RULE)
    .refine((directive) => hasOwnBegin(directive as OnceFields & LaterFields), DEBOUNCE_RULE);
}

/** A schema of a model directive, which names its model one way or the other. */
function modelDirective<S extends z.ZodRawShape & typeof modelFields & typeof queuedFields>(shape: S) {
  const named = z.strictObject(shape).refine((directive) => namesModel(directive as ModelChoice), MODEL_RULE);
  return queued(named).meta({ ...MODEL_RULE_JSON, ...EXCLUDED_JSON });
}

function toolDirective<S extends z.ZodRawShape & typeof queuedFields>(shape: S) {
  return queued(z.strictObject(shape)).meta(EXCLUDED_JSON);
}

const streamFields = {
  type: z
    .literal('llm_stream')
    .describe(
      'Type of the directive: calls a model and publishes its answer as delta signals while it is generated.',
    ),
  ...llmFields,
};
const generateFields = {
  type: z.literal('llm_generate').describe('Type of the directive: calls a model.'),
  ...llmFields,
};

/** Schema of an accepted `tool_exec`. */
export const toolExecSchema = toolDirective({ ...directiveFields, ...toolExecFields });
/** Schema of an accepted `llm_stream`. */
export const llmStreamSchema = modelDirective({ ...directiveFields, ...streamFields });
/** Schema of an accepted `llm_generate`. */
export const llmGenerateSchema = modelDirective({ ...directiveFields, ...generateFields });
/** Schema of an accepted `llm_embed`. */
export const llmEmbedSchema = modelDirective({ ...directiveFields, ...embedFields });
/** Schema of an accepted `llm_request`. */
export const llmRequestSchema = modelDirective({ ...directiveFields, ...requestFields });

/** Schema of a submitted `tool_exec`. */
export const submittedToolExecSchema = toolDirective({ ...submittedFields, ...toolExecFields });
/** Schema of a submitted `llm_stream`. */
export const submittedLlmStreamSchema = modelDirective({ ...submittedFields, ...streamFields });
/** Schema of a submitted `llm_generate`. */
export const submittedLlmGenerateSchema = modelDirective({ ...submittedFields, ...generateFields });
/** Schema of a submitted `llm_embed`. */
export const submittedLlmEmbedSchema = modelDirective({ ...submittedFields, ...embedFields });
/** Schema of a submitted `llm_request`. */
export const submittedLlmRequestSchema = modelDirective({ ...submittedFields, ...requestFields });

/** Reasoning effort of a model. */
export type Reasoning = z.infer<typeof reasoningSchema>;
/** Tool that a model may call, described in the directive. */
export type OfferedTool = z.infer<typeof offeredToolSchema>;
/** Directive that calls a tool. */
export type ToolExec = z.infer<typeof toolExecSchema>;
/** Directive that calls a model and publishes its answer as deltas. */
export type LlmStream = z.infer<typeof llmStreamSchema>;
/** Directive that calls a model. */
export type LlmGenerate = z.infer<typeof llmGenerateSchema>;
/** Directive that computes embeddings. */
export type LlmEmbed = z.infer<typeof llmEmbedSchema>;
/** Directive that sends a request to a model's provider as it is. */
export type LlmRequest = z.infer<typeof llmRequestSchema>;
/** Directive that a worker executes. */
export type WorkDirective = ToolExec | LlmStream | LlmGenerate | LlmEmbed | LlmRequest;
