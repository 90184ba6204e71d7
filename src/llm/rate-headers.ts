// Reads from a provider's response how long to wait because of its rate limits.
import { ownMember } from '../contract/own-member.ts';
// Must never wait itself, nor trust a senseless number.

export type ResponseHeaders = Readonly<Record<string, string>>;

/** A header that asks for more than a day is a mistake, and is ignored. */
const LONGEST_MS = 86_400_000;
/** A larger bare number is an instant, in seconds since the epoch. */
const EPOCH_SECONDS = 1_000_000_000;

/** The limit headers of the provider families: what is left of each limit, and when it is full again. */
const LIMITS: readonly { readonly remaining: string; readonly reset: string }[] = [
  { remaining: 'x-ratelimit-remaining-requests', reset: 'x-ratelimit-reset-requests' },
  { remaining: 'x-ratelimit-remaining-tokens', reset: 'x-ratelimit-reset-tokens' },
  { remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset' },
  { remaining: 'anthropic-ratelimit-requests-remaining', reset: 'anthropic-ratelimit-requests-reset' },
  { remaining: 'anthropic-ratelimit-tokens-remaining', reset: 'anthropic-ratelimit-tokens-reset' },
  {
    remaining: 'anthropic-ratelimit-input-tokens-remaining',
    reset: 'anthropic-ratelimit-input-tokens-reset',
  },
  {
    remaining: 'anthropic-ratelimit-output-tokens-remaining',
    reset: 'anthropic-ratelimit-output-tokens-reset',
  },
];

/** Milliseconds that the provider asks to wait, in its headers or the body of its refusal; null: it does not ask. */
export function retryAfterMs(headers: ResponseHeaders, body: string, now: number): number | null {
  const asked = milliseconds(headers['retry-after-ms']) ?? waitUntil(headers['retry-after'], now);
  if (asked !== null) return asked;
  return delayInBody(body) ?? exhaustedForMs(headers, now) ?? shortestReset(headers, now);
}

/** Milliseconds until a used-up limit is full again; null: none is used up. */
export function exhaustedForMs(headers: ResponseHeaders, now: number): number | null {
  const waits = LIMITS.filter(({ remaining }) => isZero(headers[remaining]))
    .map(({ reset }) => waitUntil(headers[reset], now))
    .filter((wait) => wait !== null);
  return waits.length === 0 ? null : Math.max(...waits);
}

function shortestReset(headers: ResponseHeaders, now: number): number | null {
  const waits = LIMITS.map(({ reset }) => waitUntil(headers[reset], now)).filter((wait) => wait !== null);
  return waits.length === 0 ? null : Math.min(...waits);
}

function isZero(header: string | undefined): boolean {
  return header !== undefined && header.trim() !== '' && Number(header) === 0;
}

/** Google puts it into the error: `"retryDelay": "37s"`. */
function delayInBody(body: string): number | null {
  const delay = /"retryDelay"\s*:\s*"(?<seconds>\d+(?:\.\d+)?)s"/.exec(body)?.groups?.['seconds'];
  return delay === undefined ? null : sane(Number(delay) * 1_000);
}

function milliseconds(header: string | undefined): number | null {
  return header !== undefined && /^\d+(\.\d+)?$/.test(header.trim()) ? sane(Number(header)) : null;
}

/** Seconds, an instant in seconds, a span such as `6m0s` or `12ms`, or a date. */
function waitUntil(header: string | undefined, now: number): number | null {
  const text = header?.trim() ?? '';
  if (text === '') return null;
  if (/^\d+(\.\d+)?$/.test(text)) {
    const seconds = Number(text);
    return sane(seconds > EPOCH_SECONDS ? seconds * 1_000 - now : seconds * 1_000);
  }
  const span = spanMs(text);
  if (span !== null) return sane(span);
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? null : sane(instant - now);
}

const UNIT_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

function spanMs(text: string): number | null {
  if (!/^(\d+(\.\d+)?(ms|[dhms]))+$/.test(text)) return null;
  let sum = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g))
    sum += Number(count) * (ownMember(UNIT_MS, unit ?? '') ?? 0);
  return sum;
}

/** At least a millisecond: a past instant needs no wait, and an absurd one is ignored. */
function sane(ms: number): number | null {
  return ms <= LONGEST_MS ? Math.max(1, Math.ceil(ms)) : null;
}
