// Signals about a whole request.
// Must never be read as the answer to one directive, except `ai.request.error` of `emit_request_error`.
import * as z from 'zod';
import { identifierSchema, jsonObjectSchema } from './identifiers.ts';
import { metadataSchema, signalType } from './signal-envelope.ts';

const requestId = { request_id: identifierSchema.describe('Id of the request.') };
const terminationReason = {
  termination_reason: z
    .string()
    .optional()
    .describe(
      'Reason why the run ended, such as `final_answer`, `length` (the answer of the model was cut off) or `max_iterations`; for a failure the type of the error.',
    ),
};
const unreadInputs = {
  unread_inputs: z
    .array(identifierSchema)
    .optional()
    .describe('Ids of accepted inputs that the run did not read or answer before its end. Absent: none.'),
};
const runId = { run_id: z.string().min(1).optional().describe('Id of the run.') };

/** Signal `ai.request.error`: an error of the whole request. */
export const requestError = signalType('ai.request.error', '/ai/strategy', {
  ...requestId,
  reason: z.string().min(1).describe('Type of the error.'),
  message: z.string().describe('Explanation of the error.'),
  metadata: metadataSchema,
});

/** Signal `ai.request.started`: the start of a run. */
export const requestStarted = signalType('ai.request.started', '/ai/request', {
  ...requestId,
  query: z.string().describe('Task of the run, as text.'),
  ...runId,
});

/** Signal `ai.request.completed`: the success of a run. */
export const requestCompleted = signalType('ai.request.completed', '/ai/request', {
  ...requestId,
  result: z.unknown().describe('Result of the run.'),
  ...runId,
  ...terminationReason,
  details: jsonObjectSchema
    .optional()
    .describe(
      "Details beside the result: `coverage_gap`, `gap_description` and `suggested_files` of a tool's `complete`.",
    ),
  ...unreadInputs,
});

/** Signal `ai.request.failed`: the failure of a run. */
export const requestFailed = signalType('ai.request.failed', '/ai/request', {
  ...requestId,
  error: z.unknown().describe('Error of the run, an error envelope.'),
  ...runId,
  ...terminationReason,
  ...unreadInputs,
});
