// Vectors of texts: requested in batches that the provider accepts, joined in the order of the texts.
// Must never join vectors of different lengths, nor send another batch after one has failed.
import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import type { EncodingFormat, Embeddings } from '../contract/embedding.ts';
import type { ModelRef } from '../contract/model-name.ts';
import { normalizeUsage, type Usage } from '../contract/usage.ts';
import { MAX_EMBEDDED_TEXTS } from './answer-limits.ts';
import { failure, type ModelFailure } from './model-failure.ts';
import type { ResponseHeaders } from './rate-headers.ts';

/** The result of one batch. */
export interface EmbeddedBatch {
  vectors: readonly (readonly number[])[];
  /** null: the provider reported none. */
  tokens: number | null;
  headers: ResponseHeaders;
}

/** Splits the texts into batches that fit the model's limit for one call and our limit for its answer. */
export async function batchesOf(model: EmbeddingModelV4, texts: readonly string[]): Promise<string[][]> {
  const most = (await model.maxEmbeddingsPerCall) ?? MAX_EMBEDDED_TEXTS;
  const size = Math.max(1, Math.min(most, MAX_EMBEDDED_TEXTS));
  const batches: string[][] = [];
  for (let start = 0; start < texts.length; start += size) batches.push(texts.slice(start, start + size));
  return batches;
}

export interface BatchRequest {
  dimensions: number | undefined;
  /** The context that the provider continues. */
  traceparent: string;
  abortSignal: AbortSignal;
}

/** Throws the errors of the provider's client. */
export async function embedBatch(
  model: EmbeddingModelV4,
  texts: readonly string[],
  { dimensions, traceparent, abortSignal }: BatchRequest,
): Promise<EmbeddedBatch> {
  const { embeddings, usage, response } = await model.doEmbed({
    values: [...texts],
    abortSignal,
    headers: { traceparent },
    ...(dimensions === undefined ? {} : { dimensions }),
  });
  return { vectors: embeddings, tokens: usage?.tokens ?? null, headers: response?.headers ?? {} };
}

export interface JoinOptions {
  ref: ModelRef;
  count: number;
  /** As requested; undefined: the model's default. */
  dimensions: number | undefined;
  format: EncodingFormat;
  durationMs: number;
}

/** The payload, or what is wrong with the vectors. */
export function joinEmbeddings(
  batches: readonly EmbeddedBatch[],
  { ref, count, dimensions, format, durationMs }: JoinOptions,
): { ok: true; payload: Embeddings } | { ok: false; failure: ModelFailure } {
  const vectors = batches.flatMap((batch) => batch.vectors);
  const length = vectors[0]?.length ?? 0;
  const expected = dimensions ?? length;
  const odd = vectors.find((vector) => vector.length !== expected);
  const fail = (message: string, details: Record<string, unknown>) =>
    ({ ok: false, failure: failure('invalid_result', message, { model: ref.name, ...details }) }) as const;
  if (vectors.length !== count)
    return fail(`the provider sent ${vectors.length} vectors for ${count} texts`, {
      count,
      vectors: vectors.length,
    });
  if (odd)
    return fail(`a vector has ${odd.length} dimensions, not ${expected}`, {
      dimensions: odd.length,
      expected,
    });
  if (count > 0 && expected === 0) return fail('the vectors have no dimensions', { dimensions: 0 });
  const payload = {
    count,
    dimensions: expected,
    usage: usageOf(batches),
    model: ref.model,
    duration_ms: durationMs,
  };
  if (format === 'float')
    return {
      ok: true,
      payload: { encoding_format: 'float', embeddings: vectors.map((vector) => [...vector]), ...payload },
    };
  return {
    ok: true,
    payload: { encoding_format: 'base64', embeddings: vectors.map(float32Base64), ...payload },
  };
}

/** null: of one of them at least it is not known. */
function usageOf(batches: readonly EmbeddedBatch[]): Usage | null {
  if (batches.some(({ tokens }) => tokens === null)) return null;
  return normalizeUsage({ input_tokens: batches.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0) });
}

const FLOAT_BYTES = 4;

/** Little-endian on every machine. */
function float32Base64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * FLOAT_BYTES);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * FLOAT_BYTES);
  return bytes.toString('base64');
}
