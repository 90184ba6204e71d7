// A request and its directives as a reader sees them.
// Must never show a member that only the journal needs: claims, leases, owners.
import * as z from 'zod';
import { anyDirectiveSchema, anyDirectiveTypeSchema } from '../directive/directive.ts';
import { prioritySchema } from '../directive/flow.ts';
import { identifierSchema, instantSchema } from '../identifiers.ts';
import { noticeFields } from '../signal/notice.ts';
import { MOST_DESCENDANTS } from '../run/again.ts';
import { runViewSchema } from '../run/run.ts';
import { signalSchema } from '../signal/signal.ts';
import { openInputSchema } from '../tool/tool-question.ts';
import { waitSchema } from './waiting.ts';

const count = z.int().min(0);

const traceFields = {
  trace_id: z.string().optional().describe('Id of the W3C trace that it belongs to. Absent: unknown.'),
  trace_url: z
    .string()
    .optional()
    .describe('Address of the trace in the tracing system. Absent: not configured.'),
};

const summaryFields = {
  id: identifierSchema.describe('Id of the directive.'),
  type: anyDirectiveTypeSchema.describe('Type of the directive.'),
  request_id: identifierSchema.describe('Id of the request.'),
  status: z
    .enum(['accepted', 'running', 'waiting', 'succeeded', 'failed'])
    .describe('State of the directive.'),
  lane: z.string().nullable().describe('Lane of the directive; null: none.'),
  attempts: count.describe('Number of attempts.'),
  failures: count.describe('Number of failed attempts that were retried, or will be.'),
  redeliveries: count.describe('Number of redeliveries after the death of a worker.'),
  accepted_at: instantSchema.describe('Instant (UTC) of the acceptance.'),
  started_at: instantSchema.nullable().describe('Instant (UTC) of the first attempt; null: not started.'),
  ended_at: instantSchema.nullable().describe('Instant (UTC) of the end; null: not ended.'),
  deadline_at: instantSchema.describe('Instant (UTC) by which the directive ends at the latest.'),
  next_attempt_at: instantSchema
    .nullable()
    .describe('Instant (UTC) of the next attempt; null: none is scheduled.'),
  begins_at: instantSchema.optional().describe('Earliest start (UTC) that the caller asked for.'),
  start_by_at: instantSchema
    .optional()
    .describe('Latest start (UTC); after it the directive ends as `expired`.'),
  digest: z.string().describe('Digest of the content, by which a repeat is recognized.'),
  waiting: waitSchema
    .optional()
    .describe(
      'Reason why the directive makes no progress. Absent: it is in flight, has ended, or will be dequeued soon.',
    ),
  inputs: z.array(openInputSchema).optional().describe('Open questions of its tool. Absent: none.'),
  /** Who is notified of its end. */
  ...noticeFields,
};

/** Schema of a directive in the view of its request. */
export const directiveSummarySchema = z.object(summaryFields);

/** Schema of the view of a directive. */
export const directiveViewSchema = z.object({
  ...summaryFields,
  ...traceFields,
  priority: prioritySchema
    .optional()
    .describe('Priority in the lane, 0 to 9. Absent: the directive does not wait in a lane.'),
  limits: z
    .array(z.string())
    .optional()
    .describe('Concurrency and rate limits that apply to it, as text. Absent: none.'),
  directive: anyDirectiveSchema.describe('Directive as accepted.'),
  result: signalSchema.nullable().describe('Terminal signal; null: not ended.'),
});

/** Schema of the view of a request. */
export const requestViewSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  status: z.enum(['open', 'closed']).describe('State of the request.'),
  sequence: count.describe('Sequence number of the newest signal.'),
  open: count.describe('Number of directives and runs that have not ended.'),
  created_at: instantSchema.describe('Instant (UTC) of the creation.'),
  closed_at: instantSchema.nullable().describe('Instant (UTC) of the end; null: open.'),
  archived: z
    .literal(true)
    .optional()
    .describe(
      'Present where Redis no longer holds the request, and its archive answers: secrets are redacted by their names, and attempts and turns are counted only. Absent: Redis holds it.',
    ),
  ...traceFields,
  directives: z
    .array(directiveSummarySchema)
    .describe('Directives of the request, in the order of acceptance.'),
  descendants: z
    .array(identifierSchema)
    .optional()
    .describe(
      `Requests that run this one again or were forked from it, oldest first, at most ${MOST_DESCENDANTS}. Absent: none.`,
    ),
  run: runViewSchema.optional().describe('Run of the request. Absent: the request has none.'),
  /** Who is notified of the end of the run. */
  ...noticeFields,
});

/** Directive in the view of its request. */
export type DirectiveSummary = z.infer<typeof directiveSummarySchema>;
/** View of a directive. */
export type DirectiveView = z.infer<typeof directiveViewSchema>;
/** State of a directive. */
export type DirectiveStatus = DirectiveSummary['status'];
/** View of a request. */
export type RequestView = z.infer<typeof requestViewSchema>;
