// The timeline of a request: attempts and waits as intervals, made of its trace.
// Must never interpolate: an instant that nobody has kept is null.
import * as z from 'zod';
import { instantSchema } from './identifiers.ts';
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
    /** The number of the attempt as signals carry it. */
    n: z.int().min(1),
    /** The process that made it; absent: unknown. */
    worker: z.string().optional(),
  });

/** A later version may name other kinds. */
export const timelineWaitSchema = z.object({
  /**
   * `queue`: for a worker with a free slot. `backoff`: for the delay before another attempt. `paused`: its lane is held back by a limit.
   * `blocked`: nobody serves its lane, or its server is down. `approval`: for a decision. `question`: for the answer to what its tool asks.
   */
  kind: z.string().regex(/^[a-z0-9_]{1,64}$/),
  /** null: unknown. */
  from: instantOrNull,
  /** null: it goes on (`open`), or unknown. */
  until: instantOrNull,
  /** It goes on. */
  open: z.boolean(),
  /** A reason or the decision; null: none is known. */
  why: z.string().nullable(),
  /** Until when it waits at the longest, or when it tries again; null: nobody knows. */
  due_at: instantOrNull,
});

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
  .extend({ attempts: z.array(timelineAttemptSchema), waits: z.array(timelineWaitSchema) });

/** A call that a run wants to make, and of which no directive exists (yet): it waits for approval, or was denied. A budget likewise. */
export const timelineCallSchema = z.object({
  call_id: z.string(),
  name: z.string().nullable(),
  waits: z.array(timelineWaitSchema),
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
      .extend({ turns: z.array(tracedTurnSchema.omit({ events: true })) })
      .optional(),
    /** In the order of acceptance. */
    directives: z.array(timelineDirectiveSchema),
    calls: z.array(timelineCallSchema),
    children: z.array(
      tracedChildSchema.extend({
        timeline: z.string(),
        request: z.string(),
        /** When the turn that wrote its start ended; null: unknown. */
        started_at: instantOrNull,
        /** When the run was notified of its end; null: it goes on, or unknown. */
        ended_at: instantOrNull,
      }),
    ),
    /** Attempts and waits beyond the most of one answer. */
    spans_left_out: count,
  });

export type RequestTimeline = z.infer<typeof requestTimelineSchema>;
export type TimelineDirective = z.infer<typeof timelineDirectiveSchema>;
export type TimelineAttempt = z.infer<typeof timelineAttemptSchema>;
export type TimelineWait = z.infer<typeof timelineWaitSchema>;
export type TimelineCall = z.infer<typeof timelineCallSchema>;
