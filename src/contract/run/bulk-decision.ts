// One decision about several calls and budgets: each is decided as if it were alone.
// Must never decide about what the caller has not named.
import * as z from 'zod';
import { identifierSchema } from '../identifiers.ts';
import { DirectiveRefused } from '../problem.ts';
import {
  approvalDecisionBodySchema,
  type ApprovalDecisionBody,
  type RecordedDecision,
  recordedDecisionSchema,
} from './run.ts';

/** Calls and budgets of one bulk decision. */
export const MOST_DECIDED = 100;

const namedCall = {
  request_id: identifierSchema.describe('Id of the request.'),
  call_id: z.string().min(1).max(256).describe('Id of the call or budget that waits for a decision.'),
};

/** Schema of a decision about several calls. */
export const bulkDecisionBodySchema = approvalDecisionBodySchema.omit({ arguments: true }).extend({
  calls: z
    .array(z.strictObject(namedCall))
    .min(1)
    .max(MOST_DECIDED)
    .describe('Calls and budgets to decide about, 1 to 100, as `GET /v1/approvals` lists them.'),
});

/** Schema of the answer to a decision about several calls. */
export const bulkDecisionSchema = z.object({
  decided: z
    .array(recordedDecisionSchema)
    .describe('Recorded decisions, in the order of the calls; a repeat returns the same.'),
  refused: z
    .array(
      z.object({
        ...namedCall,
        code: z.string().describe('Code of the refusal, as of a single decision.'),
        detail: z.string().describe('Reason of the refusal.'),
      }),
    )
    .describe('Calls about which nothing was recorded, in the order of the calls.'),
});

/** Decision about several calls. */
export type BulkDecisionBody = z.infer<typeof bulkDecisionBodySchema>;
/** Answer to a decision about several calls. */
export type BulkDecision = z.infer<typeof bulkDecisionSchema>;

/** Decides about each call with `decide`, which has the rules of a single decision. A call that is refused keeps no other from its decision. */
export async function decideEach(
  decide: (requestId: string, callId: string, body: ApprovalDecisionBody) => Promise<RecordedDecision>,
  { calls, ...decision }: BulkDecisionBody,
): Promise<BulkDecision> {
  const decided: RecordedDecision[] = [];
  const refused: BulkDecision['refused'] = [];
  for (const { request_id, call_id } of calls)
    try {
      decided.push(await decide(request_id, call_id, decision));
    } catch (error) {
      if (!(error instanceof DirectiveRefused) || error.problem.status >= 500) throw error;
      const { code, detail = '' } = error.problem;
      refused.push({ request_id, call_id, code, detail });
    }
  return { decided, refused };
}
