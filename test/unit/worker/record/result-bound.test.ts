/** The size of results: what fits passes unchanged, what does not fit is marked. */
import { expect, test } from 'vitest';
import { errorEnvelope } from '../../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../../src/contract/result.ts';
import { boundResult } from '../../../../src/worker/record/result-bound.ts';

const text = (bytes: number) => okResult('x'.repeat(bytes - 2));

test('a payload of exactly the limit passes', () => {
  const result = text(1_000);
  expect(boundResult(result, { bytes: 1_000, overflow: 'truncate' }, '/here')).toEqual({
    result,
    truncated: null,
  });
});

test('a larger one is cut to a marked preview with its size', () => {
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

test('or it is refused, with an error that names both sizes', () => {
  const { result } = boundResult(text(2_000), { bytes: 1_000, overflow: 'refuse' }, '/here');
  expect(result).toMatchObject({
    ok: false,
    error: { type: 'invalid_result', details: { bytes: 2_000, limit_bytes: 1_000 } },
  });
});

test.each([1_024, 16_384, 1_048_576])(
  'an error is cut to %i bytes, and keeps what decides about it',
  (bytes) => {
    const details = {
      said: Array.from({ length: 100 }, () => '\u20ac'.repeat(16_000)),
      retry_after_ms: 5,
      outcome: 'unknown',
    };
    const error = errorEnvelope('tool_error', '\u20ac'.repeat(16_000), details);
    const { result } = boundResult(errorResult(error), { bytes, overflow: 'truncate' }, '/here');
    if (result.ok) throw new Error('an error stays one');
    expect(Buffer.byteLength(JSON.stringify(result.error))).toBeLessThanOrEqual(bytes);
    const size = Buffer.byteLength(JSON.stringify(error));
    expect(result.error).toMatchObject({
      type: 'tool_error',
      details: { retry_after_ms: 5, outcome: 'unknown', truncated_bytes: size },
    });
  },
);
