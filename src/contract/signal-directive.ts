// Signals about a directive other than its answer.
// Must never end a directive: its terminal signal does.
import * as z from 'zod';
import { errorEnvelopeSchema } from './error-envelope.ts';
import { durationMsSchema, instantSchema } from './identifiers.ts';
import { metadataSchema, signalType } from './signal-envelope.ts';
import { waitSchema } from './waiting.ts';

const callId = z.string().min(1);

/** `attempt` of the envelope is the one that failed; `failures` counts it. */
export const retryScheduled = signalType('directive.retry_scheduled', '/directive', {
  call_id: callId,
  error: errorEnvelopeSchema,
  failures: z.int().min(0),
  max_retries: z.int().min(0),
  delay_ms: durationMsSchema,
  next_attempt_at: instantSchema,
  metadata: metadataSchema,
});

/** A control directive inside a tool result that was not accepted; `index` is its place there. */
export const directiveRejected = signalType('directive.rejected', '/directive', {
  call_id: callId,
  index: z.int().min(0),
  directive_type: z.string().nullable(),
  reason: z.string().min(1),
  message: z.string().optional(),
  metadata: metadataSchema,
});

/** A directive of a type without an executor. */
export const directiveIgnored = signalType('directive.ignored', '/directive', {
  call_id: callId,
  directive_type: z.string(),
  reason: z.string().min(1),
  metadata: metadataSchema,
});

/**
 * The directive does not go on at present. Written once for each reason; for pauses after refused calls, at the first, second,
 * fourth, eighth of them, and so on. A run without an engine has the lane `run` and the request as `call_id`.
 */
export const directiveWaiting = signalType('directive.waiting', '/directive', {
  call_id: callId,
  lane: z.string().min(1),
  ...waitSchema.shape,
  pauses: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Number of this pause of the directive at its current model or tool, after a call that was refused as `rate_limited`; counted from 1. Absent for other waits.',
    ),
  metadata: metadataSchema,
});
