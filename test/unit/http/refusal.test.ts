/** The problem that each error becomes. */
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../src/http/refusal.ts';
import { refusedAt } from '../../../src/contract/json/field-error.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../../src/contract/problem.ts';

function frameworkError(code: string, statusCode: number): Error {
  return Object.assign(new Error('x'.repeat(1_000)), { code, statusCode });
}

describe('an error', () => {
  test('that is a refusal keeps its problem', () => {
    const refused = problem('id_conflict', { digests: { stored: 'a' } });
    expect(refusalOf(new DirectiveRefused(refused))).toEqual({ problem: refused, retryAfterSeconds: null });
  });

  test('of a full lane says when to try again', () => {
    expect(refusalOf(new DirectiveRefused(problem('lane_full')))?.retryAfterSeconds).toBeGreaterThan(0);
  });

  test.each([
    [null, 1],
    [0, 1],
    [1_200, 2],
    [30_000, 30],
  ])(
    'of a service that is unavailable for %s ms becomes whole seconds, rounded up',
    (retryAfterMs, seconds) => {
      const refusal = refusalOf(new ServiceUnavailable('Redis is away', { retryAfterMs }));
      expect(refusal).toMatchObject({
        problem: { code: 'unavailable', status: 503 },
        retryAfterSeconds: seconds,
      });
    },
  );

  test.each([
    ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 415, 'unsupported_media_type'],
    ['FST_ERR_CTP_BODY_TOO_LARGE', 413, 'body_too_large'],
    ['FST_ERR_SOMETHING_NEW', 400, 'bad_request'],
    ['FST_ERR_CLOSING', 503, 'unavailable'],
  ])('%s of the framework becomes %i %s', (code, status, problemCode) => {
    const refusal = refusalOf(frameworkError(code, status));
    expect(refusal?.problem).toMatchObject({ code: problemCode, status });
    expect(refusal?.problem.detail?.length).toBeLessThanOrEqual(300);
  });

  test.each([
    new Error('secret'),
    new TypeError('bug'),
    frameworkError('FST_X', 500),
    frameworkError('SDK_ERROR', 404),
    'text',
    null,
  ])('that is a bug (%s) becomes no problem: it is logged, not shown', (error) => {
    expect(refusalOf(error)).toBeNull();
  });
});

test('a refusal at a place names the place in its detail', () => {
  const { problem: refused } = refusedAt('invalid_query', [{ path: 'after', message: 'must be a number' }]);
  expect(refused).toMatchObject({ detail: 'after: must be a number', errors: [{ path: 'after' }] });
});
