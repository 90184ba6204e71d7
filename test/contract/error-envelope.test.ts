// The ordered rules by which anything becomes an error envelope, and what is retryable.
// Must never leave a rule without a case that only that rule can pass.
import { describe, expect, test } from 'vitest';
import { errorEnvelope, isRetryable, normalizeError } from '../../src/contract/error-envelope.ts';

class Answer {
  message = 'hidden';
  code = 'x';
}
const failure = Object.assign(new TypeError('boom'), { status: 502 });
const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
const aggregate = new AggregateError([new RangeError('far')], 'all failed', { cause: refused });
const aggregated = {
  name: 'AggregateError',
  cause: { name: 'Error', message: 'refused', code: 'ECONNREFUSED' },
  errors: [{ name: 'RangeError', message: 'far' }],
};
const answer = { reason: { __class__: 'Answer', message: 'hidden', code: 'x' } };
const extra = { tool_name: 'x' };
const unnamed = { type: 'My Error!', message: 'm' };
const coded = { message: 'm', code: -32_602, retry: true };
const nested = ['error', ['error', { type: 'auth', message: 'no' }]];
const late = 'Tool execution timed out';
const invalid = 'Tool validation failed';

type Arguments = Parameters<typeof normalizeError>;
type Normalized = [type: string, message: string, details: object, retryable: boolean];

test.each<[string, Arguments, Normalized]>([
  ['1: a map', [{ type: 'not_found', message: 'm', details: { a: 1 } }], ['not_found', 'm', { a: 1 }, false]],
  ['1: an odd type', [unnamed, 'tool_error'], ['tool_error', 'm', { reported_type: 'My Error!' }, false]],
  ['2, 3: a code', [{ code: 'x', message: 'm' }], ['x', 'm', {}, false]],
  ['4, 5: an exception', [failure, 'x'], ['x', 'boom', { name: 'TypeError', status: 502 }, false]],
  ['4, 5: an aggregate', [aggregate, 'exception'], ['exception', 'all failed', aggregated, false]],
  ['6: an object of a class', [new Answer(), 'executor', 'Odd'], ['executor', 'Odd', answer, false]],
  ['7: only a message', [coded], ['execution_error', 'm', { code: -32_602, retry: true }, true]],
  ['8: a tuple, however deep', [nested], ['auth', 'no', {}, false]],
  ['9: an unknown tool', [['unknown_tool', 'no x'], 'x', 'y', extra], ['unknown_tool', 'no x', extra, false]],
  ['10: a type and a message', [['rate_limited', 'slow down']], ['rate_limited', 'slow down', {}, true]],
  ['11: a validation', [['validation', { a: 1 }]], ['validation', invalid, { details: { a: 1 } }, false]],
  [
    '12: a timeout with details',
    [['timeout', { timeout_ms: 5 }]],
    ['timeout', late, { timeout_ms: 5 }, true],
  ],
  ['12: a bare timeout', ['timeout'], ['timeout', late, {}, true]],
  ['13: a bare name', ['busy', 'llm_error', 'no'], ['llm_error', 'busy', { reason: 'busy' }, false]],
  ['13: a bare type', ['transient', 'x'], ['x', 'transient', { reason: 'transient' }, true]],
  ['14: as the fallback type', [5, 'network', 'lost'], ['network', 'lost', { reason: 5 }, true]],
])('normalizeError, rule %s', (_, given, [type, message, details, retryable]) => {
  expect(normalizeError(...given)).toStrictEqual({ type, message, details, retryable });
});

test.each([['it went wrong'], [5], [null], [{ a: 1 }], [[1, 2, 3]]])(
  'normalizeError, rule 14: %j is its own reason',
  (reason) => {
    const fallback = { type: 'execution_error', message: 'Execution failed', retryable: false };
    expect(normalizeError(reason)).toStrictEqual({ ...fallback, details: { reason } });
  },
);

describe('message and details', () => {
  test.each([
    ['null', null, 'Execution failed'],
    ['an object', { a: 1 }, '{"a":1}'],
    ['a number', 5, '5'],
  ])('a message that is %s', (_name, message, text) => {
    expect(normalizeError({ type: 'auth', message }).message).toBe(text);
  });

  test.each([
    ['null', null, {}],
    ['a list', [1], { details: [1] }],
    ['a string', 'x', { details: 'x' }],
  ])('details that are %s', (_name, details, map) => {
    expect(normalizeError({ type: 'auth', message: 'm', details }).details).toStrictEqual(map);
  });

  test('extra details win over the error’s own', () => {
    const error = { type: 'auth', message: 'm', details: { a: 1, b: 1 } };
    expect(normalizeError(error, undefined, undefined, { b: 2 }).details).toStrictEqual({ a: 1, b: 2 });
  });

  test('normalising twice changes nothing', () => {
    const once = normalizeError({
      code: 'custom_code',
      message: 'm',
      details: { deep: [[[[[[[[[[1]]]]]]]]]] },
    });
    expect(normalizeError(once, 'tool_error')).toStrictEqual(once);
  });
});

describe('isRetryable', () => {
  const error = { type: 'execution_error', message: 'm', details: {} };

  test.each([
    ['a success', { ok: true, payload: 1, effects: [] }, false],
    ['a success tuple', ['ok', 1, []], false],
    ['explicit true over the table', { ...error, type: 'auth', retryable: true }, true],
    ['explicit false over the table', { ...error, type: 'timeout', retryable: false }, false],
    ['the other spelling', { ...error, 'retryable?': true }, true],
    ['a hint in details', { ...error, details: { retry: true } }, true],
    ['retry false in details', { ...error, type: 'timeout', details: { retry: false } }, false],
    ['hint "off"', { ...error, details: { retryable: ' Off ' } }, false],
    ['hint 0', { ...error, details: { 'retryable?': 0 } }, false],
    ['hint "yes"', { ...error, details: { retryable: 'yes' } }, true],
    ['a nested hint', { ...error, details: { reason: { retry: true } } }, true],
    ['a reason that is a type', { ...error, details: { reason: 'timeout' } }, true],
    ['a message that is a type', { ...error, message: 'transient_error' }, true],
    ['an error result', { ok: false, error: { ...error, type: 'network' }, effects: [] }, true],
    ['an error tuple', ['error', { ...error, type: 'network' }], true],
    ['nothing', null, false],
    ['a number', 1, false],
  ])('%s', (_name, value, retryable) => {
    expect(isRetryable(value)).toBe(retryable);
  });

  const retried = 'timeout rate_limited provider_error network transient transient_error supervisor';
  const final = [
    'auth validation_error not_found unknown_tool unknown_model tool_error exception executor internal_error',
    'invalid_result cancelled deadline_exceeded outcome_unknown worker_lost llm_error execution_error',
  ].join(' ');

  test.each([
    ['are retried', retried, true],
    ['are final', final, false],
  ])('these types %s by the table: %s', (_, types, retryable) => {
    for (const type of types.split(' ')) expect(errorEnvelope(type, 'm').retryable, type).toBe(retryable);
  });

  test('an envelope of our own never becomes retryable by its quoted text', () => {
    expect(errorEnvelope('outcome_unknown', 'network', { reason: 'timeout' }).retryable).toBe(false);
  });
});
