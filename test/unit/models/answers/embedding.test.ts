/** Batches of texts, and their vectors joined.
 *  It must never depend on a provider. */
import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import { batchSize, joinEmbeddings } from '../../../../src/models/answers/embedding.ts';

const options = {
  ref: { provider: 'p', model: 'm', name: 'p:m' },
  dimensions: undefined,
  format: 'float',
  durationMs: 1,
} as const;
const batch = (...vectors: number[][]) => ({ vectors, tokens: 2, headers: {} });
const taking = (maxEmbeddingsPerCall: number | undefined) => ({ maxEmbeddingsPerCall }) as EmbeddingModelV4;

test.each([
  ['text-embedding-3-small', 2_048, null, 256],
  ['text-embedding-v4', 2_048, null, 10],
  ['embed-english-v3.0', 2_048, null, 96],
  ['gemini-embedding-001', 2_048, null, 100],
  ['embedding-3', undefined, null, 64],
  ['unknown', undefined, null, 256],
  ['unknown', Infinity, null, 256],
  ['unknown', 100, 200, 100],
  ['text-embedding-v4', 2_048, 25, 25],
  ['unknown', 2_048, 1, 1],
])(
  'a call of %s, whose client takes %s, with %s configured, has at most %s texts',
  async (name, most, set, size) => {
    expect(await batchSize(taking(most), { provider: 'p', model: name, name: `p:${name}` }, set)).toBe(size);
  },
);

describe('vectors', () => {
  test('are joined in order, with the tokens of all', () => {
    expect(joinEmbeddings([batch([1, 2]), batch([3, 4])], options)).toMatchObject({
      ok: true,
      payload: {
        embeddings: [
          [1, 2],
          [3, 4],
        ],
        dimensions: 2,
        usage: { input_tokens: 4, total_tokens: 4 },
      },
    });
  });

  test.each([
    ['empty', [batch([], [])], {}],
    ['of different lengths', [batch([1, 2], [3])], {}],
    ['of another length than asked for', [batch([1], [2])], { dimensions: 2 }],
  ])('that are %s are a failure', (_what, batches, more) => {
    expect(joinEmbeddings(batches, { ...options, ...more })).toMatchObject({
      ok: false,
      failure: { error: { type: 'invalid_result', retryable: false } },
    });
  });
});
