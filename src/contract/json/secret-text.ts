// Secrets in texts: those that a process knows by their values, and those that are recognised by their form.
// Must never take longer than one pass over a text, however many secrets there are.
import { KEY_MARK } from '../access/access.ts';
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
  /** Plain JSON with the secrets in all texts and names of members redacted: a copy, or the value itself where it holds none. */
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

/** Copies only objects and arrays that hold a secret: building an object of 100,000 names takes longer than reading it. */
function hiddenIn(value: unknown, hide: HideText): unknown {
  if (typeof value === 'string') return hide(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => hiddenIn(item, hide));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  return isPlainObject(value) ? hiddenMembers(value, hide) : value;
}

function hiddenMembers(value: Readonly<Record<string, unknown>>, hide: HideText): unknown {
  const names = Object.keys(value);
  /** Absent until the first secret. */
  let members: [name: string, member: unknown][] | undefined;
  for (const [at, name] of names.entries()) {
    const member = value[name];
    const hidden: [string, unknown] = [hide(name), hiddenIn(member, hide)];
    if (members === undefined && hidden[0] === name && hidden[1] === member) continue;
    members ??= names.slice(0, at).map((before) => [before, value[before]]);
    members.push(hidden);
  }
  return members === undefined ? value : Object.fromEntries(members);
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The least part of a secret that is redacted where a text was cut within it: at its end the beginning, at its beginning the end. */
const CUT_PART = 8;

/** The characters of a text that are compared at once. */
const BLOCK = 2;
const PLACES = 65_536;

/**
 * Hides each of `secrets` in its spellings: as it is, in JSON, in a URL, in base64 and base64url; also a part of one where the
 * text was cut. The search is that of Wu and Manber: it skips as many characters as the shortest spelling allows, so its time
 * does not depend on how many there are.
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
  const withoutCutParts = hidingCutParts(spellings);
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
    return withoutCutParts(copied === 0 ? text : kept + text.slice(copied));
  };
}

/** Texts of strangers are cut at many bounds, before anything knows which part of them is a secret. */
function hidingCutParts(spellings: readonly string[]): HideText {
  const longest = Math.max(...spellings.map(({ length }) => length));
  const long = spellings.filter(({ length }) => length > CUT_PART);
  const begun = Map.groupBy(long, (spelling) => spelling.slice(0, CUT_PART));
  const ended = Map.groupBy(long, (spelling) => spelling.slice(-CUT_PART));
  const [begins, ends] = [placesOf([...begun.keys()]), placesOf([...ended.keys()])];
  return (text) => {
    if (text.length < CUT_PART) return text;
    // Some cuts are marked.
    const mark = text.endsWith('…') ? 1 : 0;
    const last = text.length - mark;
    let from = Math.max(0, last - longest);
    for (; from <= last - CUT_PART; from += 1) {
      if (begins[placeOf(text, from)] !== 1) continue;
      const rest = text.slice(from, last);
      if (begun.get(rest.slice(0, CUT_PART))?.some((spelling) => spelling.startsWith(rest)) === true) break;
    }
    const isEndCut = from <= last - CUT_PART;
    const whole = isEndCut ? `${text.slice(0, from)}${REDACTED}${text.slice(last)}` : text;
    for (let to = Math.min(longest, from, last); to >= CUT_PART; to -= 1) {
      if (ends[placeOf(text, to - CUT_PART)] !== 1) continue;
      const begin = text.slice(0, to);
      if (ended.get(begin.slice(-CUT_PART))?.some((spelling) => spelling.endsWith(begin)) === true)
        return REDACTED + whole.slice(to);
    }
    return whole;
  };
}

function placesOf(texts: readonly string[]): Uint8Array {
  const places = new Uint8Array(PLACES);
  for (const text of texts) places[placeOf(text, 0)] = 1;
  return places;
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
