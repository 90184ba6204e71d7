// Vectors of texts: the payload of a successful `ai.embed.result`.
// Must never hold vectors of different lengths, nor in another order than the texts.
import * as z from 'zod';
import { usageSchema } from './usage.ts';

export const encodingFormatSchema = z.enum(['float', 'base64']);

/** Vectors as lists of numbers, or each as base64 of its 32-bit floats, little-endian. */
export type EncodingFormat = z.infer<typeof encodingFormatSchema>;

const embeddingFields = {
  /** One for each text. */
  count: z.int().min(0),
  /** Numbers in each vector. */
  dimensions: z.int().min(0),
  /** null: the provider reported none. */
  usage: usageSchema.nullable(),
  model: z.string(),
  /** From the first request to the last answer. */
  duration_ms: z.number().min(0),
};

export const embeddingsSchema = z.discriminatedUnion('encoding_format', [
  z.object({
    encoding_format: z.literal('float'),
    embeddings: z.array(z.array(z.number())),
    ...embeddingFields,
  }),
  z.object({ encoding_format: z.literal('base64'), embeddings: z.array(z.string()), ...embeddingFields }),
]);

export type Embeddings = z.infer<typeof embeddingsSchema>;
