/** Batches of texts, and their vectors joined.
 *  It must never depend on a provider. */
import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { batchesOf, joinEmbeddings } from '../../../src/llm/embedding.ts';

const options = {
  ref: { provider: 'p', model: 'm', name: 'p:m' },
  count: 2,
  dimensions: undefined,
  format: 'float',
  durationMs: 1,
} as const;
const batch = (...vectors: number[][]) => ({ vectors, tokens: 2, headers: {} });
const taking = (maxEmbeddingsPerCall: number | undefined) => ({ maxEmbeddingsPerCall }) as EmbeddingModelV4;

test('batches joined are the texts, and none is larger than the model takes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string()),
      fc.option(fc.constantFrom(1, 2, 7, Infinity), { nil: undefined }),
      async (texts, most) => {
        const batches = await batchesOf(taking(most), texts);
        expect(batches.flat()).toEqual(texts);
        for (const one of batches) expect(one.length).toBeLessThanOrEqual(most ?? 256);
        if (most === Infinity) expect(batches.length).toBeLessThanOrEqual(1);
      },
    ),
  );
});

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
    ['too few', [batch([1, 2])], {}],
    ['empty', [batch([], [])], {}],
    ['too many', [batch([1], [2], [3])], {}],
    ['of different lengths', [batch([1, 2], [3])], {}],
    ['of another length than asked for', [batch([1], [2])], { dimensions: 2 }],
  ])('that are %s are a failure', (_what, batches, more) => {
    expect(joinEmbeddings(batches, { ...options, ...more })).toMatchObject({
      ok: false,
      failure: { error: { type: 'invalid_result', retryable: false } },
    });
  });
});
