// What people are asked at present, over all requests: approvals of calls and budgets, and the questions of tools.
// Must never hold more than a page can show: whoever decides about the rest reads the request.
import * as z from 'zod';
import { identifierSchema, instantSchema } from './identifiers.ts';
import { ASKED_FOR, CURSOR_PATTERN } from './request-listing.ts';

export const openApprovalSchema = z.object({
  kind: z.enum(ASKED_FOR),
  request_id: identifierSchema,
  /** What is decided: the call, the budget, or the call whose tool asks. */
  call_id: z.string(),
  /** Of a question: the name under which it is answered. */
  input_id: z.string().nullable(),
  /** The tool that is to be called or asks; of a budget `budget.<limit>`. */
  tool: z.string(),
  /** null: no run asks. */
  agent: z.string().nullable(),
  /** Of the call, secrets left out: JSON, cut after 2,000 characters. null: it has none, or they are not known here. */
  arguments: z.string().nullable(),
  arguments_cut: z.boolean(),
  /** What the tool asks, or why more budget is needed; of at most 1,000 characters. */
  message: z.string().nullable(),
  /** The end of what the model said before, of at most 300 characters; '' where it said nothing. */
  said: z.string(),
  /** null: not known any more. */
  since: instantSchema.nullable(),
  /** Denied or declined by then. */
  deadline_at: instantSchema,
});

/** The newest requests first; within a request, what is decided first comes first. */
export const approvalListingSchema = z.object({
  approvals: z.array(openApprovalSchema),
  /** Of the requests of this page, how much more is asked than is shown. */
  omitted: z.int().min(0),
  /** The `cursor` of the page that follows; null: this is the last one. */
  next: z.string().nullable(),
  /** As in the list of requests. */
  lag_ms: z.int().min(0),
  incomplete: z.boolean().optional(),
});

/** Requests of a page. */
export const MOST_ASKING = 50;

export const approvalQuerySchema = z.strictObject({
  /** The `next` of the page before. */
  cursor: z
    .string()
    .regex(CURSOR_PATTERN, 'must be the `next` of a page')
    .optional()
    .describe('The `next` of the page before.'),
});

export type OpenApproval = z.infer<typeof openApprovalSchema>;
export type ApprovalListing = z.infer<typeof approvalListingSchema>;
export type ApprovalQuery = z.infer<typeof approvalQuerySchema>;
