/** What an HTTP client says of a submission beside its body.
 *  It must never need a service. */
import { expect, test } from 'vitest';
import { submissionHeaders } from '../../../src/client/calls.ts';

test('a key and a trace are sent as they are, and nothing else', () => {
  expect(submissionHeaders({ idempotencyKey: 'a~!', traceparent: '00-1' })).toEqual({
    'idempotency-key': 'a~!',
    traceparent: '00-1',
  });
  expect(submissionHeaders({})).toEqual({});
});

test.each(['', 'a\nb', ' a', 'ü', '🎈', 'x'.repeat(256)])(
  'the key %j is refused before it is sent, which would change it or fail',
  (idempotencyKey) => {
    expect(() => submissionHeaders({ idempotencyKey })).toThrow(
      expect.objectContaining({
        problem: expect.objectContaining({
          code: 'invalid_header',
          detail: 'idempotency-key: must be 1 to 255 visible ASCII characters',
        }),
      }),
    );
  },
);
