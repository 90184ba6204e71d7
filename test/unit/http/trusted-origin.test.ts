/** Where a page has an origin that browsers trust, which decides whether its opener policy is sent.
 *  It must never need a server. */
import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { isTrustedOrigin } from '../../../src/http/trusted-origin.ts';

const asked = (hostname: string, headers: Record<string, string> = {}, protocol = 'http'): boolean =>
  isTrustedOrigin({ hostname, headers, protocol } as unknown as FastifyRequest);

test('HTTPS and this machine are trusted, plain HTTP from elsewhere is not', () => {
  for (const name of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]', 'a.localhost'])
    expect(asked(name)).toBe(true);
  for (const name of ['adjutant.example', '10.0.0.7', 'localhost.example', '127.0.0.1.example'])
    expect(asked(name)).toBe(false);
  expect(asked('adjutant.example', {}, 'https')).toBe(true);
  expect(asked('adjutant.example', { 'x-forwarded-proto': 'https' })).toBe(true);
  expect(asked('adjutant.example', { 'sec-fetch-mode': 'navigate' })).toBe(true);
});
