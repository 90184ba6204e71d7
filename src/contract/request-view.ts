// A request and its directives as a reader sees them.
// Must never show a member that only the journal needs: claims, leases, owners.
import * as z from 'zod';
import { anyDirectiveSchema, anyDirectiveTypeSchema } from './directive.ts';
import { prioritySchema } from './flow.ts';
import { identifierSchema, instantSchema } from './identifiers.ts';
import { noticeFields } from './notice.ts';
import { runViewSchema } from './run.ts';
import { signalSchema } from './signal.ts';
import { openInputSchema } from './tool-question.ts';
import { waitSchema } from './waiting.ts';

const count = z.int().min(0);

const traceFields = {
  /** Of the W3C trace that it belongs to; absent: not known yet. */
  trace_id: z.string().optional(),
  /** The page of the trace, where the installation has one. */
  trace_url: z.string().optional(),
};

const summaryFields = {
  id: identifierSchema,
  type: anyDirectiveTypeSchema,
  request_id: identifierSchema,
  status: z.enum(['accepted', 'running', 'waiting', 'succeeded', 'failed']),
  lane: z.string().nullable(),
  attempts: count,
  failures: count,
  redeliveries: count,
  accepted_at: instantSchema,
  started_at: instantSchema.nullable(),
  ended_at: instantSchema.nullable(),
  deadline_at: instantSchema,
  next_attempt_at: instantSchema.nullable(),
  /** Its caller said when it begins; it may begin from then on. */
  begins_at: instantSchema.optional(),
  /** If it has not begun by then, it ends `expired`. */
  start_by_at: instantSchema.optional(),
  digest: z.string(),
  /** Why it does not go on, as far as known; absent: it runs, has ended, or will be taken soon. */
  waiting: waitSchema.optional(),
  /** The open questions of its tool; absent: there is none. */
  inputs: z.array(openInputSchema).optional(),
  /** Who is notified of its end. */
  ...noticeFields,
};

export const directiveSummarySchema = z.object(summaryFields);

export const directiveViewSchema = z.object({
  ...summaryFields,
  ...traceFields,
  /** With which it waits for its turn; absent: it takes none. */
  priority: prioritySchema.optional(),
  /** The limits by key that it is under, in words; absent: none. */
  limits: z.array(z.string()).optional(),
  directive: anyDirectiveSchema,
  result: signalSchema.nullable(),
});

export const requestViewSchema = z.object({
  request_id: identifierSchema,
  status: z.enum(['open', 'closed']),
  sequence: count,
  open: count,
  created_at: instantSchema,
  closed_at: instantSchema.nullable(),
  ...traceFields,
  directives: z.array(directiveSummarySchema),
  /** Present when an agent drives the request. */
  run: runViewSchema.optional(),
  /** Who is notified of the end of the run. */
  ...noticeFields,
});

export type DirectiveSummary = z.infer<typeof directiveSummarySchema>;
export type DirectiveView = z.infer<typeof directiveViewSchema>;
export type DirectiveStatus = DirectiveSummary['status'];
export type RequestView = z.infer<typeof requestViewSchema>;
