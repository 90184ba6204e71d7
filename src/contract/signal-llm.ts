// Signals of model calls: text as it comes, the answer, what it cost, embeddings.
// Must never report usage for a call that failed.
import * as z from 'zod';
import { resultSchema } from './result.ts';
import { callIdSchema, metadataSchema, signalType } from './signal-envelope.ts';
import { usageSchema } from './usage.ts';

const tokens = z.int().min(0);
const durationMs = z.number().min(0);

/** Signal `ai.llm.delta`: a chunk of a streamed answer. */
export const llmDelta = signalType('ai.llm.delta', '/ai/llm', {
  call_id: callIdSchema,
  delta: z.unknown().describe('Chunk of the answer: text, or a fragment of a tool call.'),
  chunk_type: z.enum(['content', 'thinking', 'tool_call']).describe('Kind of the chunk.'),
  seq: z.int().min(0).optional().describe('Number of the chunk within its attempt, from 0.'),
  metadata: metadataSchema,
});

/** Signal `ai.llm.response`: the answer of a model. Terminal. */
export const llmResponse = signalType('ai.llm.response', '/ai/llm', {
  call_id: callIdSchema,
  result: resultSchema.describe('Result: a model turn, or an error.'),
  usage: usageSchema.optional().describe('Token usage. Absent: not reported.'),
  model: z.string().optional().describe('Name of the model.'),
  duration_ms: durationMs.optional().describe('Duration of the call, in milliseconds.'),
  metadata: metadataSchema,
});

/** Signal `ai.usage`: the token usage of a model call. */
export const usageReported = signalType('ai.usage', '/ai/usage', {
  call_id: callIdSchema,
  model: z.string().describe('Name of the model.'),
  input_tokens: tokens.describe('Number of input tokens.'),
  output_tokens: tokens.describe('Number of output tokens.'),
  total_tokens: tokens.optional().describe('Number of all tokens.'),
  duration_ms: durationMs.optional().describe('Duration of the call, in milliseconds.'),
  metadata: metadataSchema,
});

/** Signal `ai.embed.result`: embeddings. Terminal. */
export const embedResult = signalType('ai.embed.result', '/ai/embed', {
  call_id: callIdSchema,
  result: resultSchema.describe('Result: embeddings, or an error.'),
  metadata: metadataSchema,
});
