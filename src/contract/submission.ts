// The answer to a submission: the status of each directive in it.
// Must never be sent before every directive in it is durable.
import * as z from 'zod';
import { identifierSchema } from './identifiers.ts';
import { anyDirectiveTypeSchema } from './directive.ts';
import { onceAnswerSchema } from './once.ts';
import { signalSchema } from './signal.ts';

export const submissionSchema = z.object({
  request_id: identifierSchema,
  directives: z.array(
    z.object({
      id: identifierSchema,
      type: anyDirectiveTypeSchema,
      status: z.enum(['accepted', 'existing']),
      lane: z.string().nullable(),
      digest: z.string(),
      /** Where it was submitted with `dedupe`, `debounce` or `singleton`: what it is now. */
      once: onceAnswerSchema.optional(),
      result: signalSchema.optional(),
    }),
  ),
  links: z.object({ request: z.string(), signals: z.string() }),
});

export type Submission = z.infer<typeof submissionSchema>;
