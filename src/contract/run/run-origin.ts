// The request that a repeated or forked request comes from, as views and signals name it.
// Must never hold content of that request.
import * as z from 'zod';
import { identifierSchema } from '../identifiers.ts';

/** Schema of the origin of a request. */
export const requestOriginSchema = z.object({
  request_id: identifierSchema.describe('Id of the request that it comes from.'),
  kind: z.enum(['again', 'fork']).describe('`again`: run again; `fork`: continued from one of its turns.'),
  turn: z
    .int()
    .min(1)
    .optional()
    .describe('Turn of the original before which the fork begins, from 1. Absent: run again.'),
});

/** Origin of a request. */
export type RequestOrigin = z.infer<typeof requestOriginSchema>;
