// Signals about a whole request.
// Must never be mistaken for the answer to one directive, save `ai.request.error` of `emit_request_error`.
import * as z from 'zod';
import { identifierSchema } from './identifiers.ts';
import { signalType } from './signal-envelope.ts';

const requestId = { request_id: identifierSchema };
const runId = { run_id: z.string().min(1).optional() };

export const requestError = signalType('ai.request.error', '/ai/strategy', {
  ...requestId,
  reason: z.string().min(1),
  message: z.string(),
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
});

export const requestFailed = signalType('ai.request.failed', '/ai/request', {
  ...requestId,
  error: z.unknown(),
  ...runId,
});
