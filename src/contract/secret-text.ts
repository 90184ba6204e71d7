// Secrets in texts: those that a process knows by their values, and those that are recognised by their form.
// Must never take longer than one pass over a text, however many secrets there are.
import { KEY_MARK } from './access.ts';
import { REDACTED } from './redaction.ts';

/** Returns the text with `[REDACTED]` in place of every secret. */
export type HideText = (text: string) => string;

/** Values with fewer characters are not redacted: they would match everywhere. */
export const SHORTEST_SECRET = 6;

/** User and password of an address. */
const CREDENTIALS = /(?<=:\/\/)[^\s/@"'\\]+@/g;
/** An API key, also URL-encoded; its id may be shown. */
const API_KEYS = new RegExp(
  `${KEY_MARK.replace('_', '(?:_|%(?:25)*5f)')}(?<id>[0-9a-f]{12})(?:_|%(?:25)*5f)[\\w%-]+`,
  'gi',
);
/** A signed or encrypted token: its header is an object in base64url. Begins at the start of a word only, so that it is linear. */
const JWTS = /(?<=^|[^\w-]|%[0-9A-Fa-f]{2})eyJ[\w-]{8,8192}(?:(?:\.|%2[Ee])[\w-]{0,16384}){2,4}/g;
/** The forms of keys of model providers, which other words may have, too. */
const PROVIDER_KEYS: readonly RegExp[] = [
  /\b(?:sk|pk|rk|gsk|xai|key)-[A-Za-z0-9_*.-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /\b(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-)[A-Za-z0-9_-]{10,}/g,
  // An unbounded look-behind over spaces would run again at each of them.
  /(?<=\bBearer\s{1,4})[^\s"']{6,}/gi,
  /(?<=\b(?:api[-_ ]?key|authorization|access[-_ ]?token|x-api-key)["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"',]{6,}/gi,
];

/** Hides API keys of this service and JWTs, wherever a caller has put them. */
export function withoutKeys(text: string): string {
  return text.replace(API_KEYS, `${KEY_MARK}$<id>_${REDACTED}`).replace(JWTS, REDACTED);
}

/** Hides keys, JWTs, and the user and password of addresses. */
export function withoutCredentials(text: string): string {
  return withoutKeys(text.replace(CREDENTIALS, `${REDACTED}@`));
}

/** Hides texts in the form of a provider's key: some providers repeat the key they refuse, which may be anyone's. */
export function withoutProviderKeys(text: string): string {
  return PROVIDER_KEYS.reduce((cleaned, form) => cleaned.replace(form, REDACTED), text);
}

/** The secrets that a process knows. */
export interface KnownSecrets {
  /** Adds the secrets that `source` returns, now or later: tokens come and go. It returns the same list until they change. */
  add(source: () => readonly string[]): void;
  readonly hide: HideText;
  /** A copy of plain JSON with the secrets in all texts and names of members redacted. */
  readonly hideIn: <T>(value: T) => T;
}

/** Creates the set of secrets that are removed from texts. */
export function createKnownSecrets(): KnownSecrets {
  const sources: (() => readonly string[])[] = [];
  let known: (readonly string[])[] = [];
  /** null: there is no secret. */
  let hideKnown: HideText | null = null;
  const current = (): HideText | null => {
    if (sources.every((source, index) => source() === known[index])) return hideKnown;
    known = sources.map((source) => source());
    hideKnown = known.every(({ length }) => length === 0) ? null : hiding(known.flat());
    return hideKnown;
  };
  return {
    add: (source) => void sources.push(source),
    hide: (text) => current()?.(text) ?? text,
    hideIn(value) {
      const hide = current();
      return hide === null ? value : (hiddenIn(value, hide) as typeof value);
    },
  };
}

function hiddenIn(value: unknown, hide: HideText): unknown {
  if (typeof value === 'string') return hide(value);
  if (Array.isArray(value)) return value.map((item) => hiddenIn(item, hide));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [hide(name), hiddenIn(member, hide)]),
  );
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The characters of a text that are compared at once. */
const BLOCK = 2;
const PLACES = 65_536;

/**
 * Hides each of `secrets` in its spellings: as it is, in JSON, in a URL, in base64 and base64url. The search is that of
 * Wu and Manber: it skips as many characters as the shortest spelling allows, so its time does not depend on how many there are.
 */
export function hiding(secrets: readonly string[]): HideText {
  const spellings = spellingsOf(secrets);
  const shortest = Math.min(...spellings.map(({ length }) => length));
  if (spellings.length === 0) return (text) => text;
  const skips = new Uint8Array(PLACES).fill(Math.min(shortest - BLOCK + 1, 255));
  const ending = new Map<number, string[]>();
  for (const spelling of spellings) {
    for (let end = BLOCK; end <= shortest; end += 1) {
      const place = placeOf(spelling, end - BLOCK);
      skips[place] = Math.min(skips[place] ?? 0, shortest - end);
    }
    const last = placeOf(spelling, shortest - BLOCK);
    ending.set(last, [...(ending.get(last) ?? []), spelling]);
  }
  const found = (text: string, at: number, place: number): string | undefined =>
    ending.get(place)?.find((spelling) => text.startsWith(spelling, at));
  return (text) => {
    let kept = '';
    let copied = 0;
    let end = shortest;
    while (end <= text.length) {
      const place = placeOf(text, end - BLOCK);
      const skip = skips[place] ?? 0;
      if (skip > 0) {
        end += skip;
        continue;
      }
      const at = end - shortest;
      const spelling = at < copied ? undefined : found(text, at, place);
      if (spelling === undefined) {
        end += 1;
        continue;
      }
      kept += text.slice(copied, at) + REDACTED;
      copied = at + spelling.length;
      end = copied + shortest;
    }
    return copied === 0 ? text : kept + text.slice(copied);
  };
}

function placeOf(text: string, at: number): number {
  return ((text.charCodeAt(at) << 8) ^ text.charCodeAt(at + 1)) & (PLACES - 1);
}

/** The longest first: one secret may hold another. */
function spellingsOf(secrets: readonly string[]): string[] {
  const spellings = secrets
    .filter(({ length }) => length >= SHORTEST_SECRET)
    .map((secret) => secret.toWellFormed())
    .flatMap((secret) => [...urlSpellings(secret), ...jsonSpellings(secret), ...base64Spellings(secret)]);
  return [...new Set(spellings)]
    .filter(({ length }) => length >= SHORTEST_SECRET)
    .toSorted((left, right) => right.length - left.length);
}

function urlSpellings(secret: string): string[] {
  const encoded = encodeURIComponent(secret);
  const strict = encoded.replaceAll(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const all = [encoded, strict, strict.replaceAll('%20', '+')];
  return [...all, ...all.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase()))];
}

/** Some writers of JSON escape what is not ASCII, others the slash. A text within a text is escaped twice. */
function jsonSpellings(secret: string): string[] {
  const once = inJson(secret);
  const ascii = once.replaceAll(
    /[\u0080-\uFFFF]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [secret, once, ascii, once.replaceAll('/', '\\/'), inJson(once)];
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** At each of the three places that a secret may have in a larger text, without the characters that it shares with others. */
function base64Spellings(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  return [0, 1, 2].flatMap((before) => {
    const whole = btoa(String.fromCharCode(...new Uint8Array(before), ...bytes));
    const firstWhole = Math.ceil((before * 8) / 6);
    const own = whole.slice(firstWhole, Math.floor(((before + bytes.length) * 8) / 6));
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
