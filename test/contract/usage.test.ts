// Token counts under every name that providers give them.
// Must never count a token twice.
import { describe, expect, test } from 'vitest';
import { mergeUsage, normalizeUsage } from '../../src/contract/model/usage.ts';

const usage = { input_tokens: 2, output_tokens: 3, total_tokens: 5 };

describe('normalizeUsage', () => {
  const cacheCounts = { cache_read_input_tokens: '1', cache_creation_input_tokens: '4' };
  const cached = { ...usage, cache_read_input_tokens: 1, cache_creation_input_tokens: 4 };

  test.each([
    ['canonical', { input_tokens: 2, output_tokens: 3, total_tokens: 5 }, usage],
    ['prompt/completion', { prompt_tokens: 2, completion_tokens: 3 }, usage],
    ['short', { input: 2, output: 3, total: 5 }, usage],
    ['Gemini', { promptTokenCount: 2, candidatesTokenCount: 3, totalTokenCount: 5 }, usage],
    ['count', { inputTokenCount: 2, outputTokenCount: 3 }, usage],
    ['nested', { tokens: { input: 2, output: 3 } }, usage],
    ['numeric strings', { input_tokens: '2', output_tokens: 3 }, usage],
    ['cache counts given as strings', { input_tokens: '2', output_tokens: 3, ...cacheCounts }, cached],
    ['a reported total, which wins', { input: 2, output: 3, total: 9 }, { ...usage, total_tokens: 9 }],
    [
      'negatives, which count as zero',
      { input: -2, output: 3 },
      { ...usage, input_tokens: 0, total_tokens: 3 },
    ],
  ])('%s', (_name, raw, expected) => {
    expect(normalizeUsage(raw)).toStrictEqual(expected);
  });

  test.each([
    ['nothing', null],
    ['a list', [1]],
    ['zeros', { input: 0, output: 0 }],
    ['words', { input: 'many' }],
    ['NaN', { input: Number.NaN }],
  ])('%s is no usage', (_name, raw) => {
    expect(normalizeUsage(raw)).toBeNull();
  });
});

test('mergeUsage sums every counter', () => {
  const cached = { ...usage, cache_read_input_tokens: 1 };
  expect(mergeUsage(usage, cached)).toStrictEqual({
    input_tokens: 4,
    output_tokens: 6,
    total_tokens: 10,
    cache_read_input_tokens: 1,
  });
});
