/** The Retry-After header in its two forms.
 *  It must never give a time that has passed. */
import { expect, test } from 'vitest';
import { readRetryAfterMs } from '../../../src/mcp/http-fetch.ts';

const now = Date.parse('2026-11-20T12:00:00Z');

test.each([
  [null, null],
  ['', null],
  ['soon', null],
  ['0', 0],
  ['7', 7_000],
  ['1.5', 1_500],
  ['-3', 0],
  ['Fri, 20 Nov 2026 12:00:10 GMT', 10_000],
  ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
])('%s', (header, ms) => {
  expect(readRetryAfterMs(header, now)).toBe(ms);
});
