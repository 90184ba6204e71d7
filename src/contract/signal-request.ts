// Signals about a whole request.
// Must never be read as the answer to one directive, except `ai.request.error` of `emit_request_error`.
import * as z from 'zod';
import { identifierSchema, jsonObjectSchema } from './identifiers.ts';
import { metadataSchema, signalType } from './signal-envelope.ts';

const requestId = { request_id: identifierSchema };
/** Why the run ended: `final_answer`, `length` (the model's answer was cut off), `max_iterations`, …; an error's type. */
const terminationReason = { termination_reason: z.string().optional() };
/** Accepted inputs that the run did not read or answer before its end; absent = none. */
const unreadInputs = { unread_inputs: z.array(identifierSchema).optional() };
const runId = { run_id: z.string().min(1).optional() };

export const requestError = signalType('ai.request.error', '/ai/strategy', {
  ...requestId,
  reason: z.string().min(1),
  message: z.string(),
  metadata: metadataSchema,
});

export const requestStarted = signalType('ai.request.started', '/ai/request', {
  ...requestId,
  query: z.string(),
  ...runId,
});

export const requestCompleted = signalType('ai.request.completed', '/ai/request', {
  ...requestId,
  result: z.unknown(),
  ...runId,
  ...terminationReason,
  /** Details beside the result: the coverage_gap, gap_description and suggested_files of a tool's `complete`. */
  details: jsonObjectSchema.optional(),
  ...unreadInputs,
});

export const requestFailed = signalType('ai.request.failed', '/ai/request', {
  ...requestId,
  error: z.unknown(),
  ...runId,
  ...terminationReason,
  ...unreadInputs,
});
