// Vectors of texts: requested in batches that the provider accepts, joined in the order of the texts.
// Must never give a text the vector of another one, nor join vectors of different lengths.
import { APICallError, type EmbeddingModelV4, type EmbeddingModelV4Result } from '@ai-sdk/provider';
import type { EncodingFormat, Embeddings } from '../../contract/model/embedding.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { boundedText } from '../../contract/json/json-safe.ts';
import type { ModelRef } from '../../contract/model/model-name.ts';
import { normalizeUsage, type Usage } from '../../contract/model/usage.ts';
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

/** Limits of known models, in texts of one call, where they are below ours. */
const KNOWN_BATCHES: readonly (readonly [model: RegExp, texts: number])[] = [
  // Alibaba Cloud Model Studio.
  [/^text-embedding-v[12]$/, 25],
  [/^text-embedding-v[34]$/, 10],
  // Cohere.
  [/^embed-(english|multilingual|v4)/, 96],
  // Google, also through its interface for OpenAI's clients.
  [/^(models\/)?(gemini-embedding|text-embedding-00\d)/, 100],
  // Zhipu AI.
  [/^embedding-[23]$/, 64],
];

/** Most texts of one call: as configured, else as the model is known, within its client's limit and ours. */
export async function batchSize(
  model: EmbeddingModelV4,
  { model: name }: ModelRef,
  configured: number | null,
): Promise<number> {
  const known = KNOWN_BATCHES.find(([pattern]) => pattern.test(name))?.[1] ?? MAX_EMBEDDED_TEXTS;
  const most = (await model.maxEmbeddingsPerCall) ?? MAX_EMBEDDED_TEXTS;
  return Math.max(1, Math.min(configured ?? known, most, MAX_EMBEDDED_TEXTS));
}

export interface BatchRequest {
  dimensions: number | undefined;
  /** The context that the provider continues. */
  traceparent: string;
  abortSignal: AbortSignal;
}

/** How one call went. `too_many`: the provider takes fewer texts in one call; it has not worked on these. */
export type Batch =
  | { kind: 'vectors'; batch: EmbeddedBatch }
  | { kind: 'invalid'; batch: EmbeddedBatch; failure: ModelFailure }
  | { kind: 'too_many' };

/** Throws the errors of the provider's client, except that there are too many texts. */
export async function embedBatch(
  model: EmbeddingModelV4,
  ref: ModelRef,
  texts: readonly string[],
  { dimensions, traceparent, abortSignal }: BatchRequest,
): Promise<Batch> {
  const call = {
    values: [...texts],
    abortSignal,
    headers: { traceparent },
    ...(dimensions === undefined ? {} : { dimensions }),
  };
  let answer: EmbeddingModelV4Result;
  try {
    answer = await model.doEmbed(call);
  } catch (thrown) {
    if (texts.length > 1 && isTooMany(thrown)) return { kind: 'too_many' };
    throw thrown;
  }
  const { embeddings, usage, response } = answer;
  const tokens = usage?.tokens ?? null;
  const ordered = inOrder(embeddings, response?.body, texts.length);
  const headers = response?.headers ?? {};
  if (ordered.ok) return { kind: 'vectors', batch: { vectors: ordered.vectors, tokens, headers } };
  const { message, details } = ordered;
  const more = { mayHaveCost: tokens === null };
  const found = failure('invalid_result', message, { model: ref.name, ...details }, more);
  return { kind: 'invalid', batch: { vectors: [], tokens, headers }, failure: found };
}

/**
 * Refusals of a batch in the words of public servers: text-embeddings-inference, SiliconFlow, Mistral, Cohere, Voyage,
 * Azure, OpenAI, Google, Model Studio, Zhipu.
 */
const TOO_MANY =
  /batch[ _-]?size|too many (inputs|texts|items|tokens in batch)|number of (texts|inputs)|array too long|maximum array length|tokens per (request|submitted batch)|in one batch|数组最大/i;

function isTooMany(thrown: unknown): boolean {
  if (!APICallError.isInstance(thrown)) return false;
  const { statusCode: status, message, responseBody = '' } = thrown;
  return (
    status === 413 || ((status === 400 || status === 422) && TOO_MANY.test(`${message}\n${responseBody}`))
  );
}

type Ordered =
  | { ok: true; vectors: readonly (readonly number[])[] }
  | { ok: false; message: string; details: Record<string, unknown> };

/** The vectors in the order of the texts. The clients of the providers read them by position. */
function inOrder(vectors: readonly (readonly number[])[], body: unknown, count: number): Ordered {
  if (vectors.length !== count)
    return {
      ok: false,
      message: `the provider sent ${vectors.length} vectors for ${count} texts`,
      details: { count, vectors: vectors.length },
    };
  const indexes = indexesIn(body);
  // Compatible servers without an index keep the order; so does Google's own protocol.
  if (indexes.every((index) => index === undefined)) return { ok: true, vectors };
  const placed: (readonly number[])[] = [];
  for (const [position, vector] of vectors.entries()) {
    // Google's interface for OpenAI's clients leaves out a zero. Any other absent index is a second zero.
    const index = indexes[position] ?? 0;
    const fault =
      indexFault(index, count) ?? (Object.hasOwn(placed, index as number) ? 'occurs twice' : null);
    if (fault !== null) {
      const shown = boundedText(JSON.stringify(index), 64);
      return { ok: false, message: `the index ${shown} of a vector ${fault}`, details: { count, position } };
    }
    placed[index as number] = vector;
  }
  return { ok: true, vectors: placed };
}

function indexFault(index: unknown, count: number): string | null {
  const isPlace = Number.isInteger(index) && (index as number) >= 0 && (index as number) < count;
  return isPlace ? null : `names no text; there are ${count}`;
}

/** As OpenAI's protocol has them; undefined: absent or null. */
function indexesIn(body: unknown): unknown[] {
  const data = isObject(body) ? body['data'] : undefined;
  if (!Array.isArray(data)) return [];
  return data.map((entry: unknown) => (isObject(entry) ? (entry['index'] ?? undefined) : undefined));
}

export interface JoinOptions {
  ref: ModelRef;
  /** As requested; undefined: the model's default. */
  dimensions: number | undefined;
  format: EncodingFormat;
  durationMs: number;
}

/** The payload, or what is wrong with the vectors. */
export function joinEmbeddings(
  batches: readonly EmbeddedBatch[],
  { ref, dimensions, format, durationMs }: JoinOptions,
): { ok: true; payload: Embeddings } | { ok: false; failure: ModelFailure } {
  const vectors = batches.flatMap((batch) => batch.vectors);
  const count = vectors.length;
  const length = vectors[0]?.length ?? 0;
  const expected = dimensions ?? length;
  const odd = vectors.find((vector) => vector.length !== expected);
  const fail = (message: string, details: Record<string, unknown>) =>
    ({ ok: false, failure: failure('invalid_result', message, { model: ref.name, ...details }) }) as const;
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
