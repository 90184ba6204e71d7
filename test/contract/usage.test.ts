// Token counts under every name that providers give them.
// Must never count a token twice.
import { describe, expect, test } from 'vitest';
import { mergeUsage, normalizeUsage } from '../../src/contract/usage.ts';

const usage = { input_tokens: 2, output_tokens: 3, total_tokens: 5 };

describe('normalizeUsage', () => {
  test.each([
    ['canonical', { input_tokens: 2, output_tokens: 3, total_tokens: 5 }],
    ['prompt/completion', { prompt_tokens: 2, completion_tokens: 3 }],
    ['short', { input: 2, output: 3, total: 5 }],
    ['Gemini', { promptTokenCount: 2, candidatesTokenCount: 3, totalTokenCount: 5 }],
    ['count', { inputTokenCount: 2, outputTokenCount: 3 }],
    ['nested', { tokens: { input: 2, output: 3 } }],
    ['numeric strings', { input_tokens: '2', output_tokens: 3 }],
  ])('%s', (_name, raw) => {
    expect(normalizeUsage(raw)).toStrictEqual(usage);
  });

  test('keeps cache counts given as strings', () => {
    const raw = {
      input_tokens: '2',
      output_tokens: 3,
      cache_read_input_tokens: '1',
      cache_creation_input_tokens: '4',
    };
    expect(normalizeUsage(raw)).toStrictEqual({
      ...usage,
      cache_read_input_tokens: 1,
      cache_creation_input_tokens: 4,
    });
  });

  test('a total that is reported wins over the sum', () => {
    expect(normalizeUsage({ input: 2, output: 3, total: 9 })?.total_tokens).toBe(9);
  });

  test('negatives count as zero', () => {
    expect(normalizeUsage({ input: -2, output: 3 })).toStrictEqual({
      input_tokens: 0,
      output_tokens: 3,
      total_tokens: 3,
    });
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
