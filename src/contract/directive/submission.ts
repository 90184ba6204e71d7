// The answer to a submission: the status of each directive in it.
// Must never be sent before every directive in it is durable.
import * as z from 'zod';
import { identifierSchema } from '../identifiers.ts';
import { anyDirectiveTypeSchema } from './directive.ts';
import { onceAnswerSchema } from './once.ts';
import { signalSchema } from '../signal/signal.ts';

/** Schema of the answer to a submission. */
export const submissionSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  directives: z
    .array(
      z.object({
        id: identifierSchema.describe('Id of the directive.'),
        type: anyDirectiveTypeSchema.describe('Type of the directive.'),
        status: z
          .enum(['accepted', 'existing'])
          .describe('Whether the directive was accepted by this call, or existed already.'),
        lane: z.string().nullable().describe('Lane of the directive; null: none.'),
        digest: z.string().describe('Digest of the content, by which a repeat is recognized.'),
        once: onceAnswerSchema
          .optional()
          .describe('Outcome of `dedupe`, `debounce` or `singleton`. Absent: submitted with none of them.'),
        result: signalSchema
          .optional()
          .describe('Terminal signal, where the call waited for it or the directive had ended.'),
      }),
    )
    .describe('Accepted directives, in the order of their submission.'),
  links: z
    .object({
      request: z.string().describe('Path of the request.'),
      signals: z.string().describe('Path of its signals.'),
    })
    .describe('Paths of related resources.'),
});

/** Answer to a submission. */
export type Submission = z.infer<typeof submissionSchema>;
