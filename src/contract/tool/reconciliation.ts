// The finding about a call of unknown outcome when a person asks its server again.
// Must never stand for the terminal signal of the call, which stays as it is.
import * as z from 'zod';
import { identifierSchema } from '../identifiers.ts';

/** Schema of the answer to a reconciliation that a person has asked for. */
export const reconciliationSchema = z.object({
  outcome: z
    .enum(['happened', 'not_happened', 'unknown', 'pending'])
    .describe(
      'Finding: `happened` settles the dead letter, `not_happened` lets it be redriven, `unknown` tells nothing, `pending`: the tool that is asked has not answered within 20 s; ask again.',
    ),
  directive: z
    .object({
      request_id: identifierSchema.describe('Id of the request.'),
      id: identifierSchema.describe('Id of the directive.'),
    })
    .describe('Directive that asked; `metadata.reconcile_of` names the call of unknown outcome.'),
  tool: z.string().describe('Tool that was asked, `server.tool`.'),
  reason: z
    .string()
    .nullable()
    .describe('Reason why nothing was found out, a sentence without its end; null: something was.'),
  result: z.unknown().optional().describe('Result of the call. Present where it happened.'),
});

/** Answer to a reconciliation that a person has asked for. */
export type Reconciliation = z.infer<typeof reconciliationSchema>;
