// What the model reads of a result.
// Must never let a secret or an unbounded text reach it.
import { describe, expect, test } from 'vitest';
import { errorEnvelope } from '../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../src/contract/result.ts';
import { toolContent } from '../../src/contract/tool-content.ts';

describe('toolContent', () => {
  const late = errorResult(errorEnvelope('timeout', 'late', { timeout_ms: 5 }));
  const error = { type: 'timeout', message: 'late', details: { timeout_ms: 5 }, retryable: true };

  test.each([
    ['a success', okResult({ sum: 5 }), { ok: true, result: { sum: 5 } }],
    ['a text', okResult('5'), { ok: true, result: '5' }],
    ['a failure', late, { ok: false, error }],
    [
      'a success with effects, not shown',
      okResult(1, [{ type: 'stop_processing' }]),
      { ok: true, result: 1 },
    ],
  ])('of %s', (_, result, shown) => {
    expect(toolContent(result)).toBe(JSON.stringify(shown));
  });

  test('of something that is not a result', () => {
    expect(JSON.parse(toolContent('what?'))).toMatchObject({ ok: false, error: { type: 'invalid_result' } });
  });

  test('secrets are redacted in results and in details', () => {
    const secret = { password: 'p', nested: [{ 'X-Api-Key': 'k' }] };
    const hidden = { password: '[REDACTED]', nested: [{ 'X-Api-Key': '[REDACTED]' }] };
    expect(JSON.parse(toolContent(okResult(secret)))).toEqual({ ok: true, result: hidden });
    const failure = JSON.parse(toolContent(errorResult(errorEnvelope('auth', 'm', secret))));
    expect(failure.error.details).toEqual(hidden);
  });

  test('strings, lists, objects and depth are bounded', () => {
    const payload = {
      text: 'x'.repeat(20_000),
      list: Array.from({ length: 150 }, () => 1),
      members: Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`m${index}`, 1])),
      deep: [[[[[[[[[1]]]]]]]]],
    };
    const { result } = JSON.parse(toolContent(okResult(payload)));
    expect(result.text).toHaveLength(16_384);
    expect(result.text.endsWith('...[truncated]')).toBe(true);
    expect(result.list).toHaveLength(100);
    expect(result.list.at(-1)).toBe('...[truncated 51 items]');
    expect(Object.keys(result.members)).toHaveLength(100);
    expect(result.members.__truncated__).toBe(51);
    expect(JSON.stringify(result.deep)).toBe('[[[[[[["...[truncated]"]]]]]]]');
  });
});
