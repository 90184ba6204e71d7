// Work directives: what a caller asks to be done through the queue.
// Must never hold a rule about how the work is executed, only what a caller may request.
import * as z from 'zod';
import { directiveFields, submittedFields } from './directive-identity.ts';
import { encodingFormatSchema } from './embedding.ts';
import { orEncrypted, orEncryptedObject } from './encrypted.ts';
import { flowFields } from './flow.ts';
import {
  jsonObjectSchema,
  positiveDurationMsSchema,
  serverNameSchema,
  toolNameSchema,
} from './identifiers.ts';
import { hasOneBegin, LATER_RULE, LATER_RULE_JSON, type LaterFields, laterFields } from './later.ts';
import { messageSchema } from './message.ts';
import {
  DEBOUNCE_RULE,
  hasOneOnce,
  hasOwnBegin,
  ONCE_EXCLUDED,
  ONE_ONCE_RULE,
  onceFields,
  type OnceFields,
} from './once.ts';
import { providerOptionsSchema } from './provider-options.ts';
import { retryFields } from './retry-policy.ts';
import { endFields } from './webhook.ts';

export const repeatPolicySchema = z.enum(['read', 'idempotent', 'once']);

/** Whether the tool may be started again when it is unknown whether it ran. */
export type RepeatPolicy = z.infer<typeof repeatPolicySchema>;

/** An unknown value gives no right to repeat, so it counts as `once`. */
export function knownRepeatPolicy(effect: unknown): RepeatPolicy {
  return effect === 'read' || effect === 'idempotent' ? effect : 'once';
}

/** Of all that waits for its attempt in a lane. */
const queuedFields = { ...retryFields, ...laterFields, ...flowFields, ...onceFields, ...endFields };

const toolExecFields = {
  type: z.literal('tool_exec'),
  tool_name: toolNameSchema,
  arguments: orEncryptedObject(jsonObjectSchema).default({}),
  context: orEncryptedObject(jsonObjectSchema).default({}),
  timeout_ms: positiveDurationMsSchema.optional(),
  ...queuedFields,
  iteration: z.int().min(0).optional(),
  server: serverNameSchema.optional(),
  effect: repeatPolicySchema.optional(),
};

const contextSchema = z.union([z.array(messageSchema), z.strictObject({ messages: z.array(messageSchema) })]);

/** How much the model thinks before it answers; absent = the provider's default. */
export const reasoningSchema = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']);

/** A tool the model may call: by its name in the catalog, or described here. */
const offeredToolSchema = z.strictObject({
  name: toolNameSchema,
  description: z.string().optional(),
  /** JSON Schema of the arguments; absent = as in the catalog, for a tool that is there. */
  input_schema: jsonObjectSchema.optional(),
});

const modelFields = {
  model: z.string().max(256).optional(),
  model_alias: z.string().min(1).max(128).optional(),
};

const llmFields = {
  ...modelFields,
  context: orEncrypted(contextSchema),
  system_prompt: orEncrypted(z.string()).optional(),
  tools: z.array(z.union([toolNameSchema, offeredToolSchema])).default([]),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), z.strictObject({ required: toolNameSchema })])
    .default('auto'),
  max_tokens: z.int().min(1).default(1024),
  temperature: z.number().min(0).default(0.2),
  /** Of an attempt. */
  timeout_ms: positiveDurationMsSchema.optional(),
  /** Between two pieces of a streamed answer. */
  idle_timeout_ms: positiveDurationMsSchema.optional(),
  reasoning: reasoningSchema.optional(),
  output_schema: jsonObjectSchema.optional(),
  provider_options: providerOptionsSchema.optional(),
  ...queuedFields,
  iteration: z.int().min(0).optional(),
};

const embedFields = {
  type: z.literal('llm_embed'),
  ...modelFields,
  texts: orEncrypted(z.union([z.string(), z.array(z.string()).min(1)])),
  dimensions: z.int().min(1).optional(),
  /** Absent = `float`. */
  encoding_format: encodingFormatSchema.optional(),
  provider_options: providerOptionsSchema.optional(),
  timeout_ms: positiveDurationMsSchema.optional(),
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

/** What must not be said together of it. */
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

const streamFields = { type: z.literal('llm_stream'), ...llmFields };
const generateFields = { type: z.literal('llm_generate'), ...llmFields };

export const toolExecSchema = toolDirective({ ...directiveFields, ...toolExecFields });
export const llmStreamSchema = modelDirective({ ...directiveFields, ...streamFields });
export const llmGenerateSchema = modelDirective({ ...directiveFields, ...generateFields });
export const llmEmbedSchema = modelDirective({ ...directiveFields, ...embedFields });

export const submittedToolExecSchema = toolDirective({ ...submittedFields, ...toolExecFields });
export const submittedLlmStreamSchema = modelDirective({ ...submittedFields, ...streamFields });
export const submittedLlmGenerateSchema = modelDirective({ ...submittedFields, ...generateFields });
export const submittedLlmEmbedSchema = modelDirective({ ...submittedFields, ...embedFields });

export type Reasoning = z.infer<typeof reasoningSchema>;
export type OfferedTool = z.infer<typeof offeredToolSchema>;
export type ToolExec = z.infer<typeof toolExecSchema>;
export type LlmStream = z.infer<typeof llmStreamSchema>;
export type LlmGenerate = z.infer<typeof llmGenerateSchema>;
export type LlmEmbed = z.infer<typeof llmEmbedSchema>;
export type WorkDirective = ToolExec | LlmStream | LlmGenerate | LlmEmbed;
