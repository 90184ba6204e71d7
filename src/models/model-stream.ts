// Reads a model's streamed answer to its end, and passes on every part as it arrives. Never takes a stream that broke
// off for an answer, nor reads faster than its consumer.
import { InvalidResponseDataError, type LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createCollector, type AnswerCollector, type AnswerPiece } from './answers/answer-collector.ts';
import type { CallLimits } from './call-limits.ts';
import type { ModelAnswer, ModelReply } from './answers/model-answer.ts';
import { type ModelCall, withinLimits } from './model-call.ts';
import { type ModelFailure, modelFailure } from './answers/model-failure.ts';

/** Receives a chunk; the next one is read once the returned promise has resolved. */
export type TakePiece = (piece: AnswerPiece) => Promise<void>;

/** Rejects only when `take` does. */
export async function streamAnswer(call: ModelCall, take: TakePiece): Promise<ModelReply> {
  const collector = createCollector();
  const reading: Reading = { collector, pieces: 0, hasAnswered: false, firstPieceAt: null };
  return withinLimits(
    call,
    (limits, startedAt) => read(call, limits, startedAt, reading, take),
    () => ({
      hasAnswered: reading.hasAnswered,
      reported: collector.reported,
      written: collector.written(),
      pieces: reading.pieces,
    }),
  );
}

interface Reading {
  readonly collector: AnswerCollector;
  pieces: number;
  hasAnswered: boolean;
  firstPieceAt: number | null;
}

/** These providers report tokens before the end, in events that their clients pass on only raw. */
const REPORTS_EARLY = /anthropic|google/i;

async function read(
  { model, ref, options }: ModelCall,
  limits: CallLimits,
  startedAt: number,
  reading: Reading,
  take: TakePiece,
): Promise<ModelAnswer | ModelFailure> {
  const includeRawChunks = REPORTS_EARLY.test(model.provider);
  const answer = await model.doStream({
    ...options,
    abortSignal: limits.signal,
    includeRawChunks,
  });
  reading.hasAnswered = true;
  const reader = answer.stream.getReader();
  // Ends a pending read with the stream, also when the model ignores its signal.
  limits.signal.addEventListener('abort', () => void reader.cancel().catch(() => {}), { once: true });
  const failed = await readParts(reader, limits, reading, take);
  if (failed !== null) return modelFailure(failed.error, ref, Date.now());
  const { collector, firstPieceAt } = reading;
  return {
    ...collector.answer,
    calls: collector.answer.calls.filter(Boolean),
    headers: answer.response?.headers ?? {},
    durationMs: Math.round(performance.now() - startedAt),
    firstChunkMs: firstPieceAt === null ? null : Math.round(firstPieceAt - startedAt),
  };
}

/** The error that the provider reported in the middle of its answer; null: none. */
async function readParts(
  reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
  limits: CallLimits,
  reading: Reading,
  take: TakePiece,
): Promise<{ error: unknown } | null> {
  for (;;) {
    if (reading.pieces > 0) limits.expectNext();
    const { done, value: part } = await reader.read();
    limits.pause();
    if (done) return null;
    // Only the end is missing: what came before decides what that means.
    if (part.type === 'error' && isMissingEnd(part.error)) return null;
    if (part.type === 'error') return { error: part.error };
    const piece = reading.collector.take(part);
    const excess = reading.collector.excess();
    if (excess !== null) return { error: excess };
    if (piece) {
      reading.firstPieceAt ??= performance.now();
      reading.pieces += 1;
      await take(piece);
    }
  }
}

/** How some clients report a stream that just ended; the others finish it as interrupted. */
function isMissingEnd(error: unknown): boolean {
  return InvalidResponseDataError.isInstance(error) && error.message.includes('without a finish reason');
}
