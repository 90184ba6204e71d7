/** How long providers ask to wait, in every form they use.
 *  It must never depend on today's date. */
import { describe, expect, test } from 'vitest';
import { exhaustedForMs, retryAfterMs } from '../../../../src/models/answers/rate-headers.ts';

const NOW = Date.parse('2026-01-02T03:04:05.000Z');

describe('retry-after', () => {
  test.each<[string, Record<string, string>, number | null]>([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['parts of a second', { 'retry-after': '0.25' }, 250],
    ['nothing to wait for', { 'retry-after': '0' }, 1],
    ['a date', { 'retry-after': 'Fri, 02 Jan 2026 03:04:35 GMT' }, 30_000],
    ['a date that is past', { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' }, 1],
    ['milliseconds, which are more exact', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    ['a word', { 'retry-after': 'soon' }, null],
    ['more than a day', { 'retry-after': '999999' }, null],
    ['nothing', {}, null],
    [
      'the reset of what is used up',
      {
        'x-ratelimit-remaining-requests': '3',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '6m0s',
      },
      360_000,
    ],
    [
      'the longest reset, when the rest of the limits is not known',
      {
        'x-ratelimit-reset-requests': '20ms',
        'x-ratelimit-reset-tokens': '1h2m',
      },
      3_720_000,
    ],
    // https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers: resets come with every answer.
    [
      'no reset of limits that have something left',
      {
        'x-ratelimit-remaining-requests': '9999',
        'x-ratelimit-reset-requests': '6ms',
        'x-ratelimit-remaining-tokens': '500',
        'x-ratelimit-reset-tokens': '59s',
      },
      null,
    ],
    [
      'the reset of what is used up, which is later than the header says',
      { 'retry-after': '1', 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '59s' },
      59_000,
    ],
    [
      'an instant in milliseconds, as of OpenRouter',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW + 30_000) },
      30_000,
    ],
    [
      'an instant in seconds',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW / 1_000 + 60) },
      60_000,
    ],
    [
      'an instant of Anthropic',
      {
        'anthropic-ratelimit-output-tokens-remaining': '0',
        'anthropic-ratelimit-output-tokens-reset': '2026-01-02T03:04:50Z',
      },
      45_000,
    ],
  ])('%s', (_what, headers, ms) => {
    expect(retryAfterMs(headers, '', NOW)).toBe(ms);
  });

  test.each<[string, string, number | null]>([
    ['of Google', '{"error":{"details":[{"retryDelay": "37.5s"}]}}', 37_500],
    [
      'of OpenAI',
      '{"error":{"message":"Limit 10000, Used 9500. Please try again in 1m2.5s. Visit"}}',
      62_500,
    ],
    ['of Groq', '{"error":{"message":"Please try again in 820ms."}}', 820],
    ['that names no time', '{"error":{"message":"Please try again in a while"}}', null],
  ])('is found in the body of the refusal %s', (_whose, body, ms) => {
    expect(retryAfterMs({}, body, NOW)).toBe(ms);
  });
});

describe('an answer', () => {
  test.each<[string, Record<string, string>, number | null]>([
    [
      'with something left of every limit',
      { 'x-ratelimit-remaining-requests': '1', 'x-ratelimit-reset-requests': '9s' },
      null,
    ],
    [
      'that was the last',
      { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '9s' },
      9_000,
    ],
    [
      'that was the last of two limits',
      {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '9s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '12s',
      },
      12_000,
    ],
    ['that does not say until when', { 'x-ratelimit-remaining-requests': '0' }, null],
    [
      'with an empty header',
      { 'x-ratelimit-remaining-requests': '', 'x-ratelimit-reset-requests': '9s' },
      null,
    ],
  ])('%s', (_what, headers, ms) => {
    expect(exhaustedForMs(headers, NOW)).toBe(ms);
  });
});
