/** Errors of connections and clients that no test server can cause.
 *  It must never need a network. */
import { APICallError, LoadAPIKeyError, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import { modelFailure } from '../../../../src/models/answers/model-failure.ts';
import { withoutProviderKeys } from '../../../../src/contract/json/secret-text.ts';

const REF = { provider: 'p', model: 'gpt-4o', name: 'p:gpt-4o' };
const coded = (code: string, message = code): Error => Object.assign(new Error(message), { code });
const lost = (code: string): APICallError =>
  new APICallError({
    message: 'Cannot connect to API',
    url: 'https://user:pass@example.org/v1?key=k',
    requestBodyValues: { secret: 'prompt' },
    cause: new TypeError('fetch failed', { cause: coded(code) }),
    isRetryable: true,
  });

describe('a connection', () => {
  test.each([
    ['ECONNREFUSED', 'network', true],
    ['ENOTFOUND', 'network', true],
    ['EAI_AGAIN', 'network', true],
    ['UND_ERR_CONNECT_TIMEOUT', 'network', true],
    ['CERT_HAS_EXPIRED', 'network', true],
    ['ECONNRESET', 'network', false],
    ['UND_ERR_SOCKET', 'network', false],
    ['EPIPE', 'network', false],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout', false],
    ['UND_ERR_BODY_TIMEOUT', 'timeout', false],
  ])('%s is %s', (code, type, unreached) => {
    const failure = modelFailure(lost(code), REF, 0);
    expect(failure).toMatchObject({ unreached, unavailable: true, mayHaveCost: !unreached });
    expect(failure.error).toMatchObject({ type, retryable: true, details: { code, model: 'p:gpt-4o' } });
    expect(JSON.stringify(failure)).not.toMatch(/example\.org|pass|prompt/);
  });

  test('to a host with several addresses fails with the code of the first', () => {
    const cause = new AggregateError([coded('ECONNREFUSED'), coded('ENETUNREACH')], '');
    expect(modelFailure(new TypeError('fetch failed', { cause }), REF, 0)).toMatchObject({ unreached: true });
  });
});

describe('a client', () => {
  test.each<[string, unknown, string, boolean]>([
    ['without a key', new LoadAPIKeyError({ message: 'no key' }), 'auth', false],
    [
      'that cannot do what is asked',
      new UnsupportedFunctionalityError({ functionality: 'x' }),
      'validation_error',
      false,
    ],
    [
      'that stumbles over an answer',
      new TypeError("reading 'message' of undefined"),
      'invalid_result',
      false,
    ],
    ['that does not explain itself', 'what?', 'llm_error', false],
    ['that throws nothing at all', undefined, 'llm_error', false],
    ['that throws an error of no known kind', new Error('odd'), 'llm_error', false],
  ])('%s', (_what, thrown, type, retryable) => {
    expect(modelFailure(thrown, REF, 0).error).toMatchObject({ type, retryable });
  });

  test('whose causes go round in a circle', () => {
    const one = new Error('one');
    one.cause = new Error('two', { cause: one });
    expect(modelFailure(one, REF, 0).error.type).toBe('llm_error');
  });

  test('without an explanation passes the directive to the next model', () => {
    expect(modelFailure('what?', REF, 0).unavailable).toBe(true);
  });
});

test('a model is named only by its whole name', () => {
  const refusal = (message: string) =>
    new APICallError({ message, url: '', requestBodyValues: {}, statusCode: 429, responseBody: '' });
  const limits = (message: string) => modelFailure(refusal(message), REF, 0).limits;
  expect(limits('Rate limit reached for gpt-4o on tokens')).toBe('model');
  expect(limits('Rate limit reached for gpt-4o-mini on tokens')).toBe('provider');
  expect(limits('Rate limit reached for chatgpt-4o')).toBe('provider');
});

test.each([
  ['Incorrect API key provided: sk-proj-abc123def456.', 'sk-proj'],
  ['Received API Key = sk-ant-abcdef123456', 'abcdef'],
  ['{"authorization":"Bearer abcdefghij"}', 'abcdefghij'],
  ['x-api-key: abcdefghij', 'abcdefghij'],
  ['key AIzaSyA1234567890abc is not valid', '1234567890'],
])('%s is hidden', (text, secret) => {
  expect(withoutProviderKeys(text)).toContain('[REDACTED]');
  expect(withoutProviderKeys(text)).not.toContain(secret);
});

test('ordinary text stays unchanged', () => {
  const text = 'The risk-free key-value token limit of gpt-4o was reached: ask-me-anything.';
  expect(withoutProviderKeys(text)).toBe(text);
});
