// Vectors of texts: the payload of a successful `ai.embed.result`.
// Must never hold vectors of different lengths, nor in another order than the texts.
import * as z from 'zod';
import { usageSchema } from './usage.ts';

/** Schema of the encoding of embeddings. */
export const encodingFormatSchema = z.enum(['float', 'base64']);

/** Vectors as lists of numbers, or each as base64 of its 32-bit floats, little-endian. */
export type EncodingFormat = z.infer<typeof encodingFormatSchema>;

const embeddingFields = {
  count: z.int().min(0).describe('Number of vectors, one for each text.'),
  dimensions: z.int().min(0).describe('Number of values in each vector.'),
  usage: usageSchema.nullable().describe('Token usage; null: the provider reported none.'),
  model: z.string().describe('Name of the model.'),
  duration_ms: z.number().min(0).describe('Time from the first request to the last answer, in milliseconds.'),
};

/** Schema of embeddings. */
export const embeddingsSchema = z.discriminatedUnion('encoding_format', [
  z.object({
    encoding_format: z.literal('float').describe('Encoding of the vectors: arrays of numbers.'),
    embeddings: z.array(z.array(z.number())).describe('Vectors in the order of the texts.'),
    ...embeddingFields,
  }),
  z.object({
    encoding_format: z
      .literal('base64')
      .describe('Encoding of the vectors: base64 of 32-bit floats, little-endian.'),
    embeddings: z.array(z.string()).describe('Vectors in the order of the texts.'),
    ...embeddingFields,
  }),
]);

/** Embeddings of texts. */
export type Embeddings = z.infer<typeof embeddingsSchema>;
