// The configuration of a model provider: how it is reached, its limits, the prices of its models.
// Must never hold a key: the environment does.
import * as z from 'zod';
import { httpUrl } from './http-url.ts';
import { modelLaneSchema } from './lane.ts';
import { byName, recordByName } from './names.ts';
import { notes } from './notes.ts';

const usdPerMillion = z.number().min(0).max(1_000_000);

const PRICE_UNIT = 'US dollars for a million tokens';

const priceSchema = z.strictObject({
  input: z
    .number()
    .min(0)
    .max(1_000_000)
    .register(notes, { description: 'Price of tokens that the model reads.', unit: PRICE_UNIT }),
  output: z.number().min(0).max(1_000_000).register(notes, {
    description: 'Price of tokens that the model writes, its reasoning included.',
    unit: PRICE_UNIT,
  }),
  cache_read: usdPerMillion.optional().register(notes, {
    description: 'Price of tokens read from the provider’s cache.',
    unit: PRICE_UNIT,
    fallback: 'as `input`; `anthropic` with `prompt_cache`: a tenth of it',
  }),
  cache_write: usdPerMillion.optional().register(notes, {
    description: 'Price of tokens written into the provider’s cache.',
    unit: PRICE_UNIT,
    fallback: 'as `input`; `anthropic` with `prompt_cache`: 1.25 times for `5m`, twice for `1h`',
  }),
});

const rateLimits = {
  requests_per_minute: z.int().min(1).max(100_000_000).optional().register(notes, {
    description: 'Calls a minute over all workers.',
    unit: 'calls',
    fallback: 'no such limit',
  }),
  tokens_per_minute: z.int().min(1).max(1_000_000_000_000).optional().register(notes, {
    description: 'Tokens read and written a minute, over all workers.',
    unit: 'tokens',
    fallback: 'no such limit',
  }),
};

/** Settings about what models understand: for a provider, and more precisely for one of its models. */
const understood = {
  params: recordByName(z.string().min(1).max(128), z.unknown()).prefault({}).register(notes, {
    description:
      'Parameters of the requests, by their name in the provider’s API; `temperature` and `max_tokens` in every API. Those of a model win.',
    special:
      'null = is left out; `{"as": "name"}` = is sent under this name; an object is merged, any other value replaces the directive’s',
    fallback: 'none, except for models that are known to refuse a parameter',
  }),
  structured_output: z.enum(['json_schema', 'json_object', 'prompt']).optional().register(notes, {
    description:
      'How `output_schema` is requested: as a schema, as the mode for JSON, or in the instructions alone.',
    fallback: '`json_schema`; for a model as for its provider',
  }),
};

const modelSchema = z.strictObject({
  ...rateLimits,
  ...understood,
  embedding_batch: z.int().min(1).max(256).optional().register(notes, {
    description: 'Most texts in one embedding call.',
    unit: 'texts',
    fallback: '256, or the known limit of the model',
  }),
  price: priceSchema.optional().register(notes, {
    description: 'With it `ai.usage` and runs have the cost.',
    fallback: 'the cost is unknown',
  }),
});

const promptCacheSchema = z.enum(['off', '5m', '1h']);

const anthropicModelSchema = modelSchema.extend({
  prompt_cache: promptCacheSchema.optional().register(notes, {
    description: '`anthropic` only: `prompt_cache` of this model.',
    fallback: 'as `prompt_cache` of the provider',
  }),
});

const MODELS = { description: 'Limits and prices of single models, by their name without the provider.' };
const modelName = z.string().min(1).max(256);

const shared = {
  lane: modelLaneSchema.prefault({}).register(notes, { description: 'The queue of this provider.' }),
  ...rateLimits,
  models: byName(modelName, modelSchema).prefault({}).register(notes, MODELS),
  disabled: z
    .boolean()
    .default(false)
    .register(notes, { description: 'Leaves the provider out, even when its key is set.' }),
};

const remote = {
  ...shared,
  ...understood,
  provider_options: z.array(z.string().min(1).max(128)).max(256).optional().register(notes, {
    description: 'The names that `provider_options` of a directive may set.',
    special: 'an empty list = none',
    fallback: 'all that the contract allows',
  }),
  headers: recordByName(z.string(), z.string())
    .prefault({})
    .register(notes, { description: 'Headers of every call.' }),
  api_key_env: z
    .string()
    .regex(
      /^[A-Z_][A-Z0-9_]{0,127}$/,
      'must be the name of an environment variable (upper case), not the key',
    )
    .optional()
    .register(notes, {
      description: 'The environment variable that holds the key; never the key itself.',
      fallback: 'the variable of the type; for `openai-compatible` and `vertex` none',
    }),
};

const BASE_URL = {
  description: 'Address of the provider, with the version in its path.',
  fallback: 'the provider’s own; required for `openai-compatible`',
};
const baseUrl = { base_url: httpUrl().optional().register(notes, BASE_URL) };

const TYPE = {
  description: 'API of the provider.',
  fallback: 'the name of the provider, if it is one of the first three',
};

/** A part of a host's name or of a path. */
const label = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?$/, 'must be 1 to 64 of A-Z a-z 0-9 -');

const API = z
  .enum(['responses', 'chat'])
  .default('responses')
  .register(notes, { description: '`openai` and `azure` only: which of the two APIs is used.' });

const anthropicSchema = z.strictObject({
  type: z.literal('anthropic').register(notes, TYPE),
  ...remote,
  ...baseUrl,
  models: byName(modelName, anthropicModelSchema).prefault({}).register(notes, MODELS),
  prompt_cache: promptCacheSchema.default('5m').register(notes, {
    description:
      '`anthropic` only: how long the provider keeps the tools, instructions and history of calls that have tools or have a history, for the next call to read. `off`: no call asks for it.',
  }),
});
const openaiSchema = z.strictObject({
  type: z.literal('openai').register(notes, TYPE),
  ...remote,
  ...baseUrl,
  api: API,
  prompt_cache_key: z.boolean().default(true).register(notes, {
    description:
      '`openai` only: calls of one request that have tools or a history carry the same `prompt_cache_key`, a hash of tenant and request.',
  }),
});
const googleSchema = z.strictObject({
  type: z.literal('google').register(notes, TYPE),
  ...remote,
  ...baseUrl,
});

const compatibleSchema = z.strictObject({
  type: z.literal('openai-compatible').register(notes, TYPE),
  ...remote,
  base_url: httpUrl().register(notes, BASE_URL),
  think_tags: z.enum(['none', 'leading', 'open']).default('none').register(notes, {
    description:
      '`openai-compatible` only: text in `<think>` tags becomes thinking, where an answer begins with a tag (`leading`) or inside the tags (`open`).',
  }),
  assistant_after_tools: z.boolean().optional().register(notes, {
    description:
      '`openai-compatible` only: a short message of the assistant is sent between the results of tools and a user message, as Mistral requires.',
    fallback: 'true for models with the name of one of Mistral’s families',
  }),
  reasoning_history: z
    .enum(['as_received', 'none', 'reasoning_content', 'reasoning'])
    .default('as_received')
    .register(notes, {
      description:
        '`openai-compatible` only: member of a message that takes earlier reasoning back. `as_received`: the one in which it came; `none`: none. [Which server takes which](models.md#history)',
    }),
});
const bedrockSchema = z.strictObject({
  type: z.literal('bedrock').register(notes, TYPE),
  ...remote,
  ...baseUrl,
  region: label.register(notes, { description: '`bedrock` only: the AWS region, as `eu-central-1`.' }),
});
const vertexSchema = z
  .strictObject({
    type: z.literal('vertex').register(notes, TYPE),
    ...remote,
    ...baseUrl,
    project: label.optional().register(notes, {
      description: '`vertex` only: the project in Google Cloud.',
      fallback: 'required, unless `api_key_env` names a key, which belongs to its project',
    }),
    location: label
      .default('global')
      .register(notes, { description: '`vertex` only: the region of the models.' }),
  })
  .refine(({ project, api_key_env: key }) => (project === undefined) !== (key === undefined), {
    path: ['project'],
    message: 'or api_key_env is required, and not both',
  });
const azureSchema = z
  .strictObject({
    type: z.literal('azure').register(notes, TYPE),
    ...remote,
    ...baseUrl,
    resource: label.optional().register(notes, {
      description: '`azure` only: the name of the resource, the first part of its address.',
      fallback: 'required without `base_url`',
    }),
    api: API,
    api_version: label.optional().register(notes, {
      description: '`azure` only: the version for the older addresses with the name of a deployment.',
      fallback: 'the `v1` API',
    }),
  })
  .refine(({ resource, base_url: url }) => resource !== undefined || url !== undefined, {
    path: ['resource'],
    message: 'or base_url is required',
  });
const scriptedSchema = z.strictObject({
  type: z.literal('scripted').register(notes, TYPE),
  ...shared,
  file: z.string().min(1).optional().register(notes, {
    description: '`scripted` only: the file of turns, relative to the configuration file.',
    fallback: 'the turns of the demonstration',
  }),
  pace: z.number().positive().max(10_000).optional().register(notes, {
    description: '`scripted` only: chunks of an answer a second.',
    unit: 'chunks',
    fallback: 'as the file says',
  }),
});

export const providerSchema = z.discriminatedUnion('type', [
  anthropicSchema,
  openaiSchema,
  googleSchema,
  compatibleSchema,
  bedrockSchema,
  vertexSchema,
  azureSchema,
  scriptedSchema,
]);

/**
 * As a file may have it: a provider with the name of one of the first three types may omit the type. What depends on the
 * name is added to the published JSON Schema by scripts/configuration-schema.ts.
 */
export const writtenProviderSchema = z.union([
  anthropicSchema.partial({ type: true }),
  openaiSchema.partial({ type: true }),
  googleSchema.partial({ type: true }),
  compatibleSchema,
  bedrockSchema,
  vertexSchema,
  azureSchema,
  scriptedSchema,
]);
