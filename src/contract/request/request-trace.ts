// What a request did and when, as the journal keeps it: directives with their attempts, turns, children.
// Must never show an argument, a prompt or a result: signals hold them.
import * as z from 'zod';
import { anyDirectiveTypeSchema } from '../directive/directive.ts';
import { identifierSchema, instantSchema } from '../identifiers.ts';
import { noticeFields } from '../signal/notice.ts';
import { runStatusSchema } from '../run/run.ts';

const count = z.int().min(0);
const instantOrNull = instantSchema.nullable();

/** Schema of one claim of a directive. A null instant lies ahead, or was not recorded. */
export const tracedAttemptSchema = z.object({
  attempt: z
    .int()
    .min(1)
    .describe(
      'Number of the attempt, as signals carry it; a released claim has the number of the next attempt.',
    ),
  due_at: instantOrNull.describe('Earliest possible start (UTC); null: unknown.'),
  claimed_at: instantOrNull.describe('Instant (UTC) at which a worker claimed it; null: unknown.'),
  first_output_at: instantOrNull.describe(
    'Instant (UTC) of the first recorded text or progress; null: none.',
  ),
  ended_at: instantOrNull.describe('Instant (UTC) of the end; null: in progress, or unknown.'),
  outcome: z
    .string()
    .describe(
      'Outcome of the attempt: `running`, `succeeded`, `failed`, `cancelled`; `retry` or `fallback`: another attempt follows; `paused` or `released`: the claim was given up; `worker_lost`; `unknown`. A later version may add others.',
    ),
  reason: z
    .string()
    .nullable()
    .describe('Type of the error, or reason of the pause; null: none, or unknown.'),
  delay_ms: count
    .nullable()
    .describe(
      'Minimum delay between `ended_at` and the next attempt, in milliseconds; null: no attempt follows.',
    ),
  redelivered: z.boolean().describe('Whether the worker of the previous attempt died.'),
  model: z.string().nullable().describe('Model that was called; null: none, or unknown.'),
  worker: z
    .string()
    .optional()
    .describe(
      'Id of the process that executed it, as `GET /v1/workers` lists it: `<random>.<host>.<pid>`. Absent: unknown.',
    ),
});

/** Something that happened between: a wait, an approval, a cancellation. */
export const tracedEventSchema = z.object({
  at: instantSchema.describe('Instant (UTC) of the event.'),
  type: z
    .string()
    .describe('Type of the signal that reports the event, or `cancel_requested` of a directive.'),
  message: z.string().describe('Description of the event.'),
  until: instantOrNull.describe('Instant (UTC) until which a wait lasts; null: unknown, or no wait.'),
  call_id: z.string().optional().describe('Id of the call that an approval concerns. Absent: none.'),
  reason: z.string().optional().describe('Reason of the wait. Absent: no wait, or unknown.'),
});

/** Schema of a directive in a trace. */
export const tracedDirectiveSchema = z.object({
  id: identifierSchema.describe('Id of the directive.'),
  type: anyDirectiveTypeSchema.describe('Type of the directive.'),
  name: z.string().nullable().describe('Name of the tool or model; null: none.'),
  lane: z.string().nullable().describe('Lane of the directive; null: none.'),
  status: z
    .enum(['accepted', 'running', 'waiting', 'succeeded', 'failed'])
    .describe('State of the directive.'),
  turn: z
    .int()
    .min(1)
    .nullable()
    .describe("Number of the run's turn that submitted it; null: submitted by a caller."),
  accepted_at: instantSchema.describe('Instant (UTC) of the acceptance.'),
  begins_at: instantSchema
    .optional()
    .describe('Earliest start (UTC) that the caller asked for. Absent: at once.'),
  ended_at: instantOrNull.describe('Instant (UTC) of the end; null: not ended.'),
  deadline_at: instantSchema.describe('Instant (UTC) by which the directive ends at the latest.'),
  error: z.string().nullable().describe('Type of the error that ended it; null: none.'),
  attempts: z.array(tracedAttemptSchema).describe('Attempts, oldest first.'),
  attempts_left_out: count.describe(
    'Number of attempts that are left out; the first and the newest are kept.',
  ),
  events: z.array(tracedEventSchema).describe('Events of the directive.'),
  /** Who is notified of its end. */
  ...noticeFields,
});

/** Schema of a turn in a trace. */
export const tracedTurnSchema = z.object({
  turn: z.int().min(1).describe('Number of the turn, from 1.'),
  started_at: instantSchema.describe('Instant (UTC) of the start.'),
  ended_at: instantSchema.describe('Instant (UTC) of the end.'),
  events: z.array(tracedEventSchema).describe('Events of the turn.'),
});

/** Schema of a child run in a trace. */
export const tracedChildSchema = z.object({
  tag: z.string().describe("Name of the child within its parent's run."),
  request_id: identifierSchema.describe("Id of the child's request."),
  status: z.string().describe("Status of the child's run."),
  turn: z.int().min(1).nullable().describe('Number of the turn that started it; null: unknown.'),
});

/** Schema of a run in a trace. */
export const tracedRunSchema = z.object({
  agent: z.string().describe('Name of the agent.'),
  status: runStatusSchema.describe('Status of the run.'),
  termination_reason: z
    .string()
    .nullable()
    .describe('Reason why the run ended, as in `ai.request.completed`; null: in progress.'),
  parent_request_id: identifierSchema
    .nullable()
    .describe('Id of the request whose run started this one; null: started by a caller.'),
  turns: z.array(tracedTurnSchema).describe('Turns of the run, oldest first.'),
  turns_left_out: count.describe('Number of turns that are left out; the newest are kept.'),
  children: z.array(tracedChildSchema).describe('Child runs.'),
  /** Who is notified of its end. */
  ...noticeFields,
});

/** Instants are by the clock of Redis, those of events by the clock of who wrote the signal. */
export const requestTraceSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  status: z.enum(['open', 'closed']).describe('State of the request.'),
  created_at: instantSchema.describe('Instant (UTC) of the creation.'),
  closed_at: instantOrNull.describe('Instant (UTC) of the end; null: open.'),
  read_at: instantSchema.describe('Instant (UTC) at which the trace was read.'),
  trace_id: z.string().optional().describe('Id of the W3C trace. Absent: unknown.'),
  trace_url: z
    .string()
    .optional()
    .describe('Address of the trace in the tracing system. Absent: not configured.'),
  run: tracedRunSchema.optional().describe('Run of the request. Absent: the request has none.'),
  directives: z.array(tracedDirectiveSchema).describe('Directives in the order of acceptance.'),
  directives_left_out: count.describe('Number of directives beyond `limit`.'),
  events: z.array(tracedEventSchema).describe('Events that belong to no directive and no turn.'),
  signals_left_out: count.describe(
    'Number of signals that a long log leaves out; their events and errors are missing.',
  ),
});

/** Trace of a request. */
export type RequestTrace = z.infer<typeof requestTraceSchema>;
/** Run in a trace. */
export type TracedRun = z.infer<typeof tracedRunSchema>;
/** Turn of a run in a trace. */
export type TracedTurn = z.infer<typeof tracedTurnSchema>;
/** Directive in a trace. */
export type TracedDirective = z.infer<typeof tracedDirectiveSchema>;
/** Attempt in a trace. */
export type TracedAttempt = z.infer<typeof tracedAttemptSchema>;
/** Event in a trace. */
export type TracedEvent = z.infer<typeof tracedEventSchema>;

/** The directives of an answer. */
export const DEFAULT_TRACED = 200;
/** Maximum number of directives in a trace. */
export const MOST_TRACED = 1_000;
