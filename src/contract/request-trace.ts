// What a request did and when, as the journal keeps it: directives with their attempts, turns, children.
// Must never show an argument, a prompt or a result: signals hold them.
import * as z from 'zod';
import { anyDirectiveTypeSchema } from './directive.ts';
import { identifierSchema, instantSchema } from './identifiers.ts';
import { noticeFields } from './notice.ts';
import { runStatusSchema } from './run.ts';

const count = z.int().min(0);
const instantOrNull = instantSchema.nullable();

/** One claim of a directive. Where an instant is null, it has not come yet, or nobody has kept it. */
export const tracedAttemptSchema = z.object({
  /** The number of the attempt as signals carry it; a claim that was given back has the number of the next one. */
  attempt: z.int().min(1),
  /** When it could have begun. */
  due_at: instantOrNull,
  claimed_at: instantOrNull,
  /** The first text or progress that was recorded. */
  first_output_at: instantOrNull,
  ended_at: instantOrNull,
  /**
   * `running`, `succeeded`, `failed`, `cancelled`; `retry`, `fallback`: another attempt follows; `paused`, `released`: given back;
   * `worker_lost`; `unknown`. A later version may name others.
   */
  outcome: z.string(),
  /** The type of its error, or why it paused; null: none, or unknown. */
  reason: z.string().nullable(),
  /** How long after `ended_at` the next one may begin; null: there is none. */
  delay_ms: count.nullable(),
  /** The worker of the attempt before had died. */
  redelivered: z.boolean(),
  /** The model that was asked; null: none, or unknown. */
  model: z.string().nullable(),
});

/** Something that happened between: a wait, an approval, a cancellation. */
export const tracedEventSchema = z.object({
  at: instantSchema,
  /** The type of the signal that says so, or `cancel_requested` of a directive. */
  type: z.string(),
  message: z.string(),
  /** Until when it waits; null: nobody knows, or it does not wait. */
  until: instantOrNull,
  /** The call that an approval is about; absent: it is about no call. */
  call_id: z.string().optional(),
  /** Why it waits; absent: it does not wait, or nobody knows. */
  reason: z.string().optional(),
});

export const tracedDirectiveSchema = z.object({
  id: identifierSchema,
  type: anyDirectiveTypeSchema,
  /** The tool or the model; null: it has none. */
  name: z.string().nullable(),
  lane: z.string().nullable(),
  status: z.enum(['accepted', 'running', 'waiting', 'succeeded', 'failed']),
  /** The turn of the run that sent it; null: a caller submitted it. */
  turn: z.int().min(1).nullable(),
  accepted_at: instantSchema,
  /** Its caller said when it begins; absent: it could begin at once. */
  begins_at: instantSchema.optional(),
  ended_at: instantOrNull,
  deadline_at: instantSchema,
  /** The type of the error that it ended with. */
  error: z.string().nullable(),
  /** Oldest first. */
  attempts: z.array(tracedAttemptSchema),
  /** Of many claims the first and the newest are kept. */
  attempts_left_out: count,
  events: z.array(tracedEventSchema),
  /** Who is notified of its end. */
  ...noticeFields,
});

export const tracedTurnSchema = z.object({
  turn: z.int().min(1),
  started_at: instantSchema,
  ended_at: instantSchema,
  events: z.array(tracedEventSchema),
});

export const tracedChildSchema = z.object({
  tag: z.string(),
  request_id: identifierSchema,
  status: z.string(),
  /** The turn that wrote its start; null: unknown. */
  turn: z.int().min(1).nullable(),
});

export const tracedRunSchema = z.object({
  agent: z.string(),
  status: runStatusSchema,
  /** As in `ai.request.completed`; null while the run is under way. */
  termination_reason: z.string().nullable(),
  /** The request whose run started this one; null: a caller did. */
  parent_request_id: identifierSchema.nullable(),
  turns: z.array(tracedTurnSchema),
  /** Of many turns the newest are kept. */
  turns_left_out: count,
  children: z.array(tracedChildSchema),
  /** Who is notified of its end. */
  ...noticeFields,
});

/** Instants are by the clock of Redis, those of events by the clock of who wrote the signal. */
export const requestTraceSchema = z.object({
  request_id: identifierSchema,
  status: z.enum(['open', 'closed']),
  created_at: instantSchema,
  closed_at: instantOrNull,
  /** When the trace was read. */
  read_at: instantSchema,
  trace_id: z.string().optional(),
  trace_url: z.string().optional(),
  /** Present when an agent drives the request. */
  run: tracedRunSchema.optional(),
  /** In the order of acceptance. */
  directives: z.array(tracedDirectiveSchema),
  /** Directives beyond `limit`. */
  directives_left_out: count,
  /** Events that belong to no directive and no turn. */
  events: z.array(tracedEventSchema),
  /** Signals of a long log that are not part of this: their events and errors are missing here. */
  signals_left_out: count,
});

export type RequestTrace = z.infer<typeof requestTraceSchema>;
export type TracedRun = z.infer<typeof tracedRunSchema>;
export type TracedTurn = z.infer<typeof tracedTurnSchema>;
export type TracedDirective = z.infer<typeof tracedDirectiveSchema>;
export type TracedAttempt = z.infer<typeof tracedAttemptSchema>;
export type TracedEvent = z.infer<typeof tracedEventSchema>;

/** The directives of an answer. */
export const DEFAULT_TRACED = 200;
export const MOST_TRACED = 1_000;
