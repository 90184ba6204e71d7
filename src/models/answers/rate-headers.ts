// Reads from a provider's response how long to wait because of its rate limits.
// Must never wait itself, nor trust a senseless number.
import { ownMember } from '../../contract/json/json-object.ts';

export type ResponseHeaders = Readonly<Record<string, string>>;

/** A header that asks for more than a day is a mistake, and is ignored. */
const LONGEST_MS = 86_400_000;
/** A larger bare number is an instant, in seconds since the epoch. */
const EPOCH_SECONDS = 1_000_000_000;
/** A larger one is in milliseconds, as OpenRouter sends it. */
const EPOCH_MS = 1_000_000_000_000;

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

/**
 * Milliseconds that the provider asks to wait: the longest time that its refusal names, in `Retry-After`, in its body, or for limits
 * that are used up; else for limits of which it does not say what is left. null: it names none.
 */
export function retryAfterMs(headers: ResponseHeaders, body: string, now: number): number | null {
  const asked = milliseconds(headers['retry-after-ms']) ?? waitUntil(headers['retry-after'], now);
  const unknown = LIMITS.filter(({ remaining }) => isBlank(headers[remaining]));
  return (
    longest([asked, delayInBody(body), exhaustedForMs(headers, now)]) ??
    longest(resetsOf(unknown, headers, now))
  );
}

/** Milliseconds until a used-up limit is full again; null: none is used up. */
export function exhaustedForMs(headers: ResponseHeaders, now: number): number | null {
  const usedUp = LIMITS.filter(({ remaining }) => isZero(headers[remaining]));
  return longest(resetsOf(usedUp, headers, now));
}

function resetsOf(limits: typeof LIMITS, headers: ResponseHeaders, now: number): (number | null)[] {
  return limits.map(({ reset }) => waitUntil(headers[reset], now));
}

function longest(waits: readonly (number | null)[]): number | null {
  const known = waits.filter((wait) => wait !== null);
  return known.length === 0 ? null : Math.max(...known);
}

function isBlank(header: string | undefined): boolean {
  return header === undefined || header.trim() === '';
}

function isZero(header: string | undefined): boolean {
  return !isBlank(header) && Number(header) === 0;
}

/** Google puts it into the error, `"retryDelay": "37s"`; OpenAI and Groq into its message, `Please try again in 1m2.5s`. */
function delayInBody(body: string): number | null {
  const span = /(?:"retryDelay"\s*:\s*"|try again in )(?<span>[\d.]{1,16}[dhms][\ddhms.]{0,32})/.exec(body);
  const ms = spanMs((span?.groups?.['span'] ?? '').replace(/\.$/, ''));
  return ms === null ? null : sane(ms);
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
    if (seconds > EPOCH_MS) return sane(seconds - now);
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

/** At least a millisecond, since a pause has its own shortest time; an absurd one is ignored. */
function sane(ms: number): number | null {
  return ms <= LONGEST_MS ? Math.max(1, Math.ceil(ms)) : null;
}
