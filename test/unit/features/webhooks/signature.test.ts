/** Signatures by the vector of the specification, and how long a receiver may ask to be left alone.
 *  It must not compute a signature with the code that it tests. */
import { describe, expect, test } from 'vitest';
import { retryAfterMs } from '../../../../src/features/webhooks/retry-after.ts';
import { signedHeaders } from '../../../../src/features/webhooks/signature.ts';

describe('the headers of a message', () => {
  const message = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    at: new Date(1_614_265_330_000),
    body: '{"test": 2432232314}',
  };
  const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

  test('are those of the specification', () => {
    expect(signedHeaders([SECRET], message)).toEqual({
      'webhook-id': message.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  test('have a signature of each key', () => {
    const { 'webhook-signature': signatures } = signedHeaders(
      [`whsec_${btoa('k'.repeat(32))}`, SECRET],
      message,
    );
    expect(signatures).toMatch(/^v1,[^ ]+ v1,g0hM9SsE\+OTPJTGt\/tmIKtSyZlE3uFJELVlNIOLJ1OE=$/);
  });
});

describe('how long a receiver is left alone', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  test.each([
    [null, null],
    ['', null],
    ['soon', null],
    ['-5', null],
    ['0', null],
    ['2', 2_000],
    ['99999999', 3_600_000],
    ['Thu, 01 Jan 2026 00:00:03 GMT', 3_000],
    ['Wed, 01 Jan 2025 00:00:03 GMT', null],
    ['Fri, 01 Jan 2100 00:00:03 GMT', 3_600_000],
  ])('%j is %j', (header, ms) => expect(retryAfterMs(header, now)).toBe(ms));
});
