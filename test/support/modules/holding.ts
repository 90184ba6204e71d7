/** A directive type that works until it is cancelled, as in a user's module.
 *  It must not end by itself. */
import * as z from 'zod';
import { defineDirective, errorEnvelope, errorResult } from '../../../src/extend/definitions.ts';

export const holding = defineDirective({
  type: 'holding',
  mode: 'queued',
  schema: z.strictObject({}),
  effect: 'idempotent',
  execute: async (_directive, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { result: errorResult(errorEnvelope('execution_error', 'it was told to stop')) };
  },
});
