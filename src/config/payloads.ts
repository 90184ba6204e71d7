// Where large payloads lie, so that Redis holds only their hash.
// Must never name a place in two ways.
import * as z from 'zod';
import { placeFields, requireOnePlace } from './archive.ts';
import { notes } from './notes.ts';

/** Smaller payloads travel with their job. */
const LEAST_BYTES = 32_768;

const payloadsSchema = z
  .strictObject({
    ...placeFields,
    offload_above_bytes: z.int().min(LEAST_BYTES).default(262_144).register(notes, {
      description: 'Directives, and results above `limits.result_bytes`, that are larger are stored there.',
      unit: 'bytes',
    }),
  })
  .superRefine(requireOnePlace);

export const payloadSections = {
  payloads: payloadsSchema.optional().register(notes, {
    description:
      'Large payloads lie there instead of in Redis. See [large payloads](archive.md#large-payloads).',
    fallback: 'all are in Redis',
  }),
};
