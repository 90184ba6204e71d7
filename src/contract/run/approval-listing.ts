// The open questions to people, over all requests: approvals of calls and budgets, and the questions of tools. Never
// holds more than a page can show: the request has the rest.
import * as z from 'zod';
import { anyTenantSchema, listedTenant, TENANT_IN_LIST } from '../access/tenant-name.ts';
import { identifierSchema, instantSchema } from '../identifiers.ts';
import { ASKED_FOR, CURSOR_PATTERN } from '../request/request-listing.ts';

/** Schema of an open approval or question. */
export const openApprovalSchema = z.object({
  kind: z.enum(ASKED_FOR).describe('Kind of the open question.'),
  tenant: listedTenant,
  request_id: identifierSchema.describe('Id of the request that waits.'),
  call_id: z
    .string()
    .describe('Id of the call, or of the budget or the call whose tool asks, that the answer concerns.'),
  input_id: z
    .string()
    .nullable()
    .describe("Id under which a tool's question is answered; null for approvals."),
  tool: z.string().describe('Tool to be called or asking; for a budget `budget.<limit>`.'),
  agent: z.string().nullable().describe('Agent of the run; null: no run asks.'),
  arguments: z
    .string()
    .nullable()
    .describe(
      'Arguments of the call as JSON with secrets redacted, at most 2,000 characters; null: none, or unknown.',
    ),
  arguments_cut: z.boolean().describe('Whether `arguments` was cut.'),
  message: z
    .string()
    .nullable()
    .describe('Question of the tool, or reason for more budget, at most 1,000 characters.'),
  said: z
    .string()
    .describe(
      "End of the model's text before the call, at most 300 characters; empty where the model wrote none.",
    ),
  query: z
    .string()
    .nullable()
    .optional()
    .describe(
      'Task of the run with secrets redacted, at most 1,000 characters; null: no run asks, or the run is encrypted. Absent: unknown.',
    ),
  since: instantSchema.nullable().describe('Instant (UTC) of the question; null: unknown.'),
  deadline_at: instantSchema.describe(
    'Instant (UTC) at which the approval is denied or the question declined without an answer.',
  ),
});

/** The newest requests first; within a request, what is decided first comes first. */
export const approvalListingSchema = z.object({
  approvals: z.array(openApprovalSchema).describe('Open approvals and questions of this page.'),
  omitted: z
    .int()
    .min(0)
    .describe("Number of further questions of this page's requests that are not listed."),
  next: z.string().nullable().describe('Cursor of the next page; null: this page is the last one.'),
  lag_ms: z
    .int()
    .min(0)
    .describe('Age of the oldest change that the list does not show yet, in milliseconds.'),
  incomplete: z
    .boolean()
    .optional()
    .describe('Whether the list is being built, so that entries may be missing. Absent: unknown.'),
});

/** Requests of a page. */
export const MOST_ASKING = 50;

/** Schema of the query for open approvals. */
export const approvalQuerySchema = z.strictObject({
  /** The `next` of the page before. */
  cursor: z
    .string()
    .regex(CURSOR_PATTERN, 'must be the `next` of a page')
    .optional()
    .describe('The `next` of the page before.'),
  tenant: anyTenantSchema.optional().describe(TENANT_IN_LIST),
});

/** Open approval or question. */
export type OpenApproval = z.infer<typeof openApprovalSchema>;
/** Page of open approvals and questions. */
export type ApprovalListing = z.infer<typeof approvalListingSchema>;
/** Query for open approvals and questions. */
export type ApprovalQuery = z.infer<typeof approvalQuerySchema>;
