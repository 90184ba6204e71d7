// The answer to a model request: what a model said, read as a turn, and the answer as its provider sent it.
// Must never change a byte of what the provider sent.
import * as z from 'zod';
import { modelTurnSchema } from './model-turn.ts';

/** Headers of a provider's answer that its caller gets. */
export const rawHeadersSchema = z.record(z.string(), z.string());

const rawFields = {
  status: z.int().min(100).max(599).describe("HTTP status of the provider's answer."),
  headers: rawHeadersSchema.describe(
    "Headers of the provider's answer that are passed on: content type, request id, rate limits.",
  ),
};

/** Schema of the provider's answer itself. */
export const rawAnswerSchema = z.object({
  ...rawFields,
  streamed: z
    .boolean()
    .describe('Whether the answer is a stream of events, whose beginning is in the `ai.llm.raw` signals.'),
  body: z
    .string()
    .describe(
      'Body of the answer; of a streamed one its end, which follows the text of the `ai.llm.raw` signals of the same attempt.',
    ),
});

/** Schema of the payload of a successful `llm_request`: a model turn, with the answer itself in `raw`. */
export const rawTurnSchema = modelTurnSchema.extend({
  raw: rawAnswerSchema.describe('Answer as the provider sent it.'),
});

/** Answer as the provider sent it. */
export type RawAnswer = z.infer<typeof rawAnswerSchema>;
/** Payload of a successful `llm_request`. */
export type RawTurn = z.infer<typeof rawTurnSchema>;

/** Schema of the head of a streamed answer, which the first `ai.llm.raw` of an attempt has. */
export const rawHeadSchema = z.object(rawFields);
/** Head of a streamed answer. */
export type RawHead = z.infer<typeof rawHeadSchema>;
