// Signals of model calls: text as it comes, the answer, what it cost, embeddings.
// Must never report usage for a call that failed.
import * as z from 'zod';
import { resultSchema } from './result.ts';
import { metadataSchema, signalType } from './signal-envelope.ts';
import { usageSchema } from './usage.ts';

const callId = z.string().min(1);
const tokens = z.int().min(0);
const durationMs = z.number().min(0);

export const llmDelta = signalType('ai.llm.delta', '/ai/llm', {
  call_id: callId,
  delta: z.unknown(),
  chunk_type: z.enum(['content', 'thinking', 'tool_call']),
  seq: z.int().min(0).optional(),
  metadata: metadataSchema,
});

export const llmResponse = signalType('ai.llm.response', '/ai/llm', {
  call_id: callId,
  result: resultSchema,
  usage: usageSchema.optional(),
  model: z.string().optional(),
  duration_ms: durationMs.optional(),
  metadata: metadataSchema,
});

export const usageReported = signalType('ai.usage', '/ai/usage', {
  call_id: callId,
  model: z.string(),
  input_tokens: tokens,
  output_tokens: tokens,
  total_tokens: tokens.optional(),
  duration_ms: durationMs.optional(),
  metadata: metadataSchema,
});

export const embedResult = signalType('ai.embed.result', '/ai/embed', {
  call_id: callId,
  result: resultSchema,
  metadata: metadataSchema,
});
