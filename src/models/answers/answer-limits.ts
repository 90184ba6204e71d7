// The size limits for everything that a model provider sends.
// Must never be smaller than a valid answer: a context window of text, some images, a batch of vectors.
import type { EventLimits } from '../../platform/bounds/event-cutter.ts';

const MIB = 1024 * 1024;

export interface AnswerLimits extends EventLimits {
  /** A whole answer, or a whole stream. */
  readonly maxBodyBytes: number;
}

/** For language models. An event may hold an image. */
export const LANGUAGE_LIMITS: AnswerLimits = {
  maxBodyBytes: 32 * MIB,
  maxEventBytes: 16 * MIB,
  maxDepth: 512,
  maxValues: 100_000,
};

/** The many small events of a stream take more bytes than the text in them. */
export const MAX_STREAM_BYTES = 128 * MIB;

/** Limits of one stream: characters of text, thinking and arguments; parts and calls. */
export const MAX_WRITTEN_CHARACTERS = 4_000_000;
export const MAX_ANSWER_PARTS = 10_000;

/** Tool calls of one answer: a run executes, awaits and records each of them. */
export const MAX_TOOL_CALLS = 256;

/** Texts of one embedding call, even if the provider takes more. */
export const MAX_EMBEDDED_TEXTS = 256;

/** For one such call: as many vectors of 4 096 numbers. */
export const EMBEDDING_LIMITS: AnswerLimits = {
  maxBodyBytes: 32 * MIB,
  maxEventBytes: 32 * MIB,
  maxDepth: 64,
  maxValues: 1_250_000,
  maxContainers: 4_096,
};

/** Most bytes that are read of an error. */
export const MAX_ERROR_BYTES = 64 * 1024;

/** Milliseconds that a finished answer waits for a report of its tokens after its last event, if the connection stays open. */
export const END_GRACE_MS = 2_000;
