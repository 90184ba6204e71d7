// The timeline of a request: attempts and waits as intervals, made of its trace.
// Must never interpolate: an instant that nobody has kept is null.
import * as z from 'zod';
import { instantSchema } from '../identifiers.ts';
import {
  requestTraceSchema,
  tracedAttemptSchema,
  tracedChildSchema,
  tracedDirectiveSchema,
  tracedRunSchema,
  tracedTurnSchema,
} from './request-trace.ts';

const count = z.int().min(0);
const instantOrNull = instantSchema.nullable();

/** Attempts and waits of one answer. */
export const MOST_SPANS = 5_000;

/** Schema of an attempt in a timeline. */
export const timelineAttemptSchema = tracedAttemptSchema
  .pick({
    claimed_at: true,
    first_output_at: true,
    ended_at: true,
    outcome: true,
    reason: true,
    redelivered: true,
    model: true,
  })
  .extend({
    n: z.int().min(1).describe('Number of the attempt, as signals carry it.'),
    worker: tracedAttemptSchema.shape.worker,
  });

/** A later version may name other kinds. */
export const timelineWaitSchema = z.object({
  kind: z
    .string()
    .regex(/^[a-z0-9_]{1,64}$/)
    .describe(
      "Kind of the wait. `queue`: for a free worker slot. `backoff`: for the delay before the next attempt. `paused`: the lane is held back by a limit. `blocked`: the lane has no worker, or its server is unreachable. `approval`: for a decision. `question`: for the answer to a tool's question. A later version may add others.",
    ),
  from: instantOrNull.describe('Instant (UTC) at which the wait began; null: unknown.'),
  until: instantOrNull.describe(
    'Instant (UTC) at which the wait ended; null: in progress (`open`), or unknown.',
  ),
  open: z.boolean().describe('Whether the wait is in progress.'),
  why: z.string().nullable().describe('Reason of the wait, or the decision; null: unknown.'),
  due_at: instantOrNull.describe(
    'Latest end of the wait, or instant of the next attempt (UTC); null: unknown.',
  ),
});

/** Schema of a directive in a timeline. */
export const timelineDirectiveSchema = tracedDirectiveSchema
  .pick({
    id: true,
    type: true,
    name: true,
    lane: true,
    status: true,
    turn: true,
    accepted_at: true,
    ended_at: true,
    deadline_at: true,
    error: true,
    attempts_left_out: true,
  })
  .extend({
    attempts: z.array(timelineAttemptSchema).describe('Attempts, oldest first.'),
    waits: z.array(timelineWaitSchema).describe('Waits, oldest first.'),
  });

/** A call that a run wants to make, and of which no directive exists (yet): it waits for approval, or was denied. A budget likewise. */
export const timelineCallSchema = z.object({
  call_id: z.string().describe('Id of the tool call.'),
  name: z.string().nullable().describe('Name of the tool; null: unknown.'),
  waits: z.array(timelineWaitSchema).describe('Waits for approvals and answers, oldest first.'),
});

/** Instants of attempts are by the clock of Redis, those of approvals and questions by the clock of who wrote the signal. */
export const requestTimelineSchema = requestTraceSchema
  .pick({
    request_id: true,
    status: true,
    created_at: true,
    closed_at: true,
    read_at: true,
    trace_id: true,
    trace_url: true,
    directives_left_out: true,
    signals_left_out: true,
  })
  .extend({
    run: tracedRunSchema
      .pick({
        agent: true,
        status: true,
        termination_reason: true,
        parent_request_id: true,
        turns_left_out: true,
      })
      .extend({
        turns: z.array(tracedTurnSchema.omit({ events: true })).describe('Turns of the run, oldest first.'),
      })
      .optional()
      .describe('Run of the request. Absent: the request has none.'),
    directives: z.array(timelineDirectiveSchema).describe('Directives in the order of acceptance.'),
    calls: z.array(timelineCallSchema).describe('Tool calls with waits for a person.'),
    children: z
      .array(
        tracedChildSchema.extend({
          timeline: z.string().describe("Path of the child's timeline."),
          request: z.string().describe("Path of the child's request."),
          started_at: instantOrNull.describe(
            'Instant (UTC) at which the turn that started the child ended; null: unknown.',
          ),
          ended_at: instantOrNull.describe(
            "Instant (UTC) at which the run was notified of the child's end; null: in progress, or unknown.",
          ),
        }),
      )
      .describe('Child runs.'),
    spans_left_out: count.describe('Number of attempts and waits beyond the limit of one answer.'),
  });

/** Timeline of a request. */
export type RequestTimeline = z.infer<typeof requestTimelineSchema>;
/** Directive in a timeline. */
export type TimelineDirective = z.infer<typeof timelineDirectiveSchema>;
/** Attempt in a timeline. */
export type TimelineAttempt = z.infer<typeof timelineAttemptSchema>;
/** Wait in a timeline. */
export type TimelineWait = z.infer<typeof timelineWaitSchema>;
/** Tool call with waits for a person in a timeline. */
export type TimelineCall = z.infer<typeof timelineCallSchema>;
