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
    fallback: 'as `input`',
  }),
  cache_write: usdPerMillion.optional().register(notes, {
    description: 'Price of tokens written into the provider’s cache.',
    unit: PRICE_UNIT,
    fallback: 'as `input`',
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

const modelSchema = z.strictObject({
  ...rateLimits,
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

const shared = {
  lane: modelLaneSchema.prefault({}).register(notes, { description: 'The queue of this provider.' }),
  ...rateLimits,
  models: byName(z.string().min(1).max(256), modelSchema).prefault({}).register(notes, {
    description: 'Limits and prices of single models, by their name without the provider.',
  }),
  disabled: z
    .boolean()
    .default(false)
    .register(notes, { description: 'Leaves the provider out, even when its key is set.' }),
};

const remote = {
  ...shared,
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
      fallback: 'the variable of the type; for `openai-compatible` no key is sent',
    }),
};

const BASE_URL = {
  description: 'Address of the provider, with the version in its path.',
  fallback: 'the provider’s own; required for `openai-compatible`',
};
const baseUrl = { base_url: httpUrl().optional().register(notes, BASE_URL) };

const TYPE = {
  description: 'The API that the provider offers.',
  fallback: 'the name of the provider, if it is one of the first three',
};

const anthropicSchema = z.strictObject({
  type: z.literal('anthropic').register(notes, TYPE),
  ...remote,
  ...baseUrl,
});
const openaiSchema = z.strictObject({
  type: z.literal('openai').register(notes, TYPE),
  ...remote,
  ...baseUrl,
  api: z
    .enum(['responses', 'chat'])
    .default('responses')
    .register(notes, { description: '`openai` only: which of its two APIs is used.' }),
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
});
const scriptedSchema = z.strictObject({
  type: z.literal('scripted').register(notes, TYPE),
  ...shared,
  file: z.string().min(1).optional().register(notes, {
    description: '`scripted` only: the file of turns, relative to the configuration file.',
    fallback: 'the turns of the demonstration',
  }),
  pace: z.number().positive().max(10_000).optional().register(notes, {
    description: '`scripted` only: pieces of an answer in a second.',
    unit: 'pieces',
    fallback: 'as the file says',
  }),
});

export const providerSchema = z.discriminatedUnion('type', [
  anthropicSchema,
  openaiSchema,
  googleSchema,
  compatibleSchema,
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
  scriptedSchema,
]);
