// Which keys hide their values.
// Must never list a key that a model needs to do its work.
import { describe, expect, test } from 'vitest';
import { isSensitiveKey, redact } from '../../../src/contract/json/redaction.ts';

describe('isSensitiveKey', () => {
  test.each([
    'api_key',
    'apikey',
    'apiKey',
    'API_KEY',
    'password',
    'secret',
    'token',
    'auth_token',
    'authToken',
    'private_key',
    'privateKey',
    'access_key',
    'accessKey',
    'bearer',
    'api_secret',
    'client_secret',
    'clientSecret',
    'secret_name',
    'my_secret_word',
    'db_password',
    'stripe_key',
    'x-api-key',
    'refresh_token',
    'accessToken',
    'stripeApiKey',
    'APIKey',
    'XApiKey',
    'myAPIKey',
    'OPENAI_APIKEY',
    'sessionCookie',
    'userIDToken',
    'dbPassword',
    'secretName',
    'authorization',
    'Authorization',
    'Proxy-Authorization',
    'Set-Cookie',
  ])('%s', (key) => {
    expect(isSensitiveKey(key)).toBe(true);
  });

  test.each([
    'key',
    'tokens',
    'max_tokens',
    'maxTokens',
    'sortedKeys',
    'authorizations',
    'input_tokens',
    'keyboard',
    'passwordless',
    'secretary',
    'monkey',
    '',
  ])('not %s', (key) => {
    expect(isSensitiveKey(key)).toBe(false);
  });
});

test('redact hides values at every depth and does not change the original', () => {
  const original = { list: [{ token: { nested: 1 }, text: 'token' }], password: null };
  expect(redact(original)).toStrictEqual({
    list: [{ token: '[REDACTED]', text: 'token' }],
    password: '[REDACTED]',
  });
  expect(original.list[0]?.token).toStrictEqual({ nested: 1 });
});
