// The ordered rules by which anything becomes an error envelope, and what is retryable.
// Must never leave a rule without a case that only that rule can pass.
import { describe, expect, test } from 'vitest';
import { errorEnvelope, isRetryable, normalizeError } from '../../src/contract/error-envelope.ts';

describe('normalizeError', () => {
  test('rule 1: a map with type and message', () => {
    expect(normalizeError({ type: 'not_found', message: 'gone', details: { a: 1 } })).toStrictEqual({
      type: 'not_found',
      message: 'gone',
      details: { a: 1 },
      retryable: false,
    });
  });

  test('rule 1: a type that is not spelled like a name is replaced by the fallback, and kept in the details', () => {
    expect(normalizeError({ type: 'My Error!', message: 'm' }, 'tool_error')).toStrictEqual({
      type: 'tool_error',
      message: 'm',
      details: { reported_type: 'My Error!' },
      retryable: false,
    });
  });

  test('rules 2 and 3: a map with code and message', () => {
    const envelope = { type: 'x', message: 'm', details: {}, retryable: false };
    expect(normalizeError({ code: 'x', message: 'm' })).toStrictEqual(envelope);
  });

  test('rules 4 and 5: an exception keeps message, class and fields, never its stack', () => {
    const error = Object.assign(new TypeError('boom'), { status: 502 });
    expect(normalizeError(error, 'llm_error')).toStrictEqual({
      type: 'llm_error',
      message: 'boom',
      details: { name: 'TypeError', status: 502 },
      retryable: false,
    });
  });

  test('rules 4 and 5: a cause and the errors of an aggregate are kept', () => {
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const error = new AggregateError([new RangeError('far')], 'all failed', { cause });
    expect(normalizeError(error, 'exception').details).toStrictEqual({
      name: 'AggregateError',
      cause: { name: 'Error', message: 'refused', code: 'ECONNREFUSED' },
      errors: [{ name: 'RangeError', message: 'far' }],
    });
  });

  test('rule 6: any other object of a class', () => {
    class Answer {
      message = 'hidden';
      code = 'x';
    }
    expect(normalizeError(new Answer(), 'executor', 'Odd')).toStrictEqual({
      type: 'executor',
      message: 'Odd',
      details: { reason: { __class__: 'Answer', message: 'hidden', code: 'x' } },
      retryable: false,
    });
  });

  test('rule 7: a map with only a message keeps its other keys as details', () => {
    expect(normalizeError({ message: 'm', code: -32_602, retry: true })).toStrictEqual({
      type: 'execution_error',
      message: 'm',
      details: { code: -32_602, retry: true },
      retryable: true,
    });
  });

  test('rule 8: an error tuple is its reason, however deep', () => {
    expect(normalizeError(['error', ['error', { type: 'auth', message: 'no' }]])).toMatchObject({
      type: 'auth',
      message: 'no',
    });
  });

  test('rule 9: an unknown tool', () => {
    const extra = { tool_name: 'x' };
    expect(normalizeError(['unknown_tool', 'no x'], 'execution_error', 'failed', extra)).toStrictEqual({
      type: 'unknown_tool',
      message: 'no x',
      details: extra,
      retryable: false,
    });
  });

  test('rule 10: a type and a message', () => {
    expect(normalizeError(['rate_limited', 'slow down'])).toStrictEqual({
      type: 'rate_limited',
      message: 'slow down',
      details: {},
      retryable: true,
    });
  });

  test('rule 11: a validation', () => {
    expect(normalizeError(['validation', { field: 'a' }])).toStrictEqual({
      type: 'validation',
      message: 'Tool validation failed',
      details: { details: { field: 'a' } },
      retryable: false,
    });
  });

  test.each([
    ['with details', ['timeout', { timeout_ms: 5 }], { timeout_ms: 5 }],
    ['bare', 'timeout', {}],
  ])('rule 12: a timeout %s', (_name, reason, details) => {
    expect(normalizeError(reason)).toStrictEqual({
      type: 'timeout',
      message: 'Tool execution timed out',
      details,
      retryable: true,
    });
  });

  test('rule 13: a bare name is the message', () => {
    expect(normalizeError('busy', 'llm_error', 'LLM request failed')).toStrictEqual({
      type: 'llm_error',
      message: 'busy',
      details: { reason: 'busy' },
      retryable: false,
    });
    expect(normalizeError('transient', 'llm_error').retryable).toBe(true);
  });

  test.each([
    ['a sentence', 'it went wrong', 'it went wrong'],
    ['a number', 5, 5],
    ['nothing', null, null],
    ['a map without a message', { a: 1 }, { a: 1 }],
    ['a list', [1, 2, 3], [1, 2, 3]],
  ])('rule 14: %s', (_name, reason, shown) => {
    const details = { reason: shown };
    const envelope = { type: 'execution_error', message: 'Execution failed', details, retryable: false };
    expect(normalizeError(reason)).toStrictEqual(envelope);
  });

  test('rule 14: retryable as the fallback type', () => {
    expect(normalizeError(5, 'network', 'lost').retryable).toBe(true);
  });
});

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

  test.each([
    'timeout',
    'rate_limited',
    'provider_error',
    'network',
    'transient',
    'transient_error',
    'supervisor',
  ])('%s is retryable by the table', (type) => {
    expect(errorEnvelope(type, 'm').retryable).toBe(true);
  });

  test.each([
    'auth',
    'validation_error',
    'not_found',
    'unknown_tool',
    'unknown_model',
    'tool_error',
    'exception',
    'executor',
    'internal_error',
    'invalid_result',
    'cancelled',
    'deadline_exceeded',
    'outcome_unknown',
    'worker_lost',
    'llm_error',
    'execution_error',
  ])('%s is not retryable by the table', (type) => {
    expect(errorEnvelope(type, 'm').retryable).toBe(false);
  });

  test('an envelope of our own never becomes retryable by its quoted text', () => {
    expect(errorEnvelope('outcome_unknown', 'network', { reason: 'timeout' }).retryable).toBe(false);
  });
});
