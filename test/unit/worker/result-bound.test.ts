/** The size of results: what fits passes untouched, what does not says so itself. */
import { expect, test } from 'vitest';
import { okResult } from '../../../src/contract/result.ts';
import { boundResult } from '../../../src/worker/result-bound.ts';

const text = (bytes: number) => okResult('x'.repeat(bytes - 2));

test('a payload of exactly the limit passes', () => {
  const result = text(1_000);
  expect(boundResult(result, { bytes: 1_000, overflow: 'truncate' }, '/here')).toEqual({
    result,
    truncated: null,
  });
});

test('a larger one is cut to a marked preview that tells its size', () => {
  const { result, truncated } = boundResult(text(10_001), { bytes: 10_000, overflow: 'truncate' }, '/here');
  expect(truncated).toMatchObject({ bytes: 10_001 });
  expect(truncated?.json).toHaveLength(10_001);
  expect(result).toMatchObject({
    ok: true,
    payload: { truncated: true, bytes: 10_001, limit_bytes: 10_000, reference: '/here' },
  });
});

test('bytes count, not characters', () => {
  const result = okResult('ä'.repeat(600));
  expect(boundResult(result, { bytes: 1_000, overflow: 'truncate' }, '/here').truncated?.bytes).toBe(1_202);
});

test('or refused, as an error that names both sizes', () => {
  const { result } = boundResult(text(2_000), { bytes: 1_000, overflow: 'refuse' }, '/here');
  expect(result).toMatchObject({
    ok: false,
    error: { type: 'invalid_result', details: { bytes: 2_000, limit_bytes: 1_000 } },
  });
});
