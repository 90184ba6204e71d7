// How large anything may be that a model provider sends.
// Must never be smaller than what a model can say: a context window of text, some images, a batch of vectors.
import type { EventLimits } from '../bounds/event-cutter.ts';

const MIB = 1024 * 1024;

export interface AnswerLimits extends EventLimits {
  /** A whole answer, or a whole stream. */
  readonly maxBodyBytes: number;
}

/** Of a model that speaks. An event may hold an image. */
export const LANGUAGE_LIMITS: AnswerLimits = {
  maxBodyBytes: 32 * MIB,
  maxEventBytes: 16 * MIB,
  maxDepth: 512,
  maxValues: 100_000,
};

/** The many small events of a stream weigh more than the text in them. */
export const MAX_STREAM_BYTES = 128 * MIB;

/** What a stream may come to: characters of text, thinking and arguments; parts and calls. */
export const MAX_WRITTEN_CHARACTERS = 4_000_000;
export const MAX_ANSWER_PARTS = 10_000;

/** Tool calls of one answer: a run makes, waits for and records each. */
export const MAX_TOOL_CALLS = 256;

/** Texts of one call for embeddings, whatever the provider takes. */
export const MAX_EMBEDDED_TEXTS = 256;

/** Of one such call: as many vectors of 4 096 numbers. */
export const EMBEDDING_LIMITS: AnswerLimits = {
  maxBodyBytes: 32 * MIB,
  maxEventBytes: 32 * MIB,
  maxDepth: 64,
  maxValues: 1_250_000,
  maxContainers: 4_096,
};

/** What is read of an error. */
export const MAX_ERROR_BYTES = 64 * 1024;
