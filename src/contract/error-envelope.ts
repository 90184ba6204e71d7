// The one form of an error on the wire: its schema, its vocabulary and what is retryable.
// Must never hold anything that cannot be JSON, or a retryable that contradicts its own hint.
import * as z from 'zod';
import { jsonSafe } from './json-safe.ts';

export const errorEnvelopeSchema = z.object({
  type: z.string().min(1),
  message: z.string(),
  details: z.record(z.string(), z.unknown()),
  retryable: z.boolean(),
});

export type ErrorEnvelope = z.infer<typeof errorEnvelopeSchema>;

/** Every error type the service itself writes. Tools and providers may name others. */
export const ERROR_TYPES = [
  'timeout',
  'rate_limited',
  'provider_error',
  'network',
  'auth',
  'validation_error',
  'validation',
  'not_found',
  'unknown_tool',
  'unknown_model',
  'tool_error',
  'exception',
  'executor',
  'internal_error',
  'invalid_result',
  'cancelled',
  'deadline_exceeded',
  'outcome_unknown',
  'worker_lost',
  'llm_error',
  'execution_error',
] as const;

export type ErrorType = (typeof ERROR_TYPES)[number];
