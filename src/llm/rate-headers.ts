// What a provider's response says about its rate limits: how long to stay away.
import { ownMember } from '../contract/own-member.ts';
// Must never wait, nor trust a number that makes no sense.

export type ResponseHeaders = Readonly<Record<string, string>>;

/** Nobody is told to stay away for longer than a day: such a header is a mistake. */
const LONGEST_MS = 86_400_000;
/** Above it a bare number of seconds is an instant, in seconds since the epoch. */
const EPOCH_SECONDS = 1_000_000_000;

/** Limits as the families of providers name them: what is left of each, and when it is full again. */
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

/** Milliseconds the provider asks to wait, by its headers or the body of its refusal; null: it does not say. */
export function retryAfterMs(headers: ResponseHeaders, body: string, now: number): number | null {
  const asked = milliseconds(headers['retry-after-ms']) ?? waitUntil(headers['retry-after'], now);
  if (asked !== null) return asked;
  return delayInBody(body) ?? exhaustedForMs(headers, now) ?? shortestReset(headers, now);
}

/** Milliseconds until a limit that the response says is used up is full again; null: none is. */
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

/** Google says it in the error itself: `"retryDelay": "37s"`. */
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

/** At least a millisecond; what is past needs no waiting, what is absurd says nothing. */
function sane(ms: number): number | null {
  return ms <= LONGEST_MS ? Math.max(1, Math.ceil(ms)) : null;
}
