// Reads JSON without losing digits: integers above 2^53 and numbers that overflow or vanish are refused, or kept as text.
// Must never recurse, nor match a pattern against a text of unbounded length: its author may be hostile.
import { fieldPath } from './field-path.ts';
import type { FieldError } from '../problem.ts';

/** A text without a match holds no such number. Most texts have none, and are searched natively. */
const SUSPECT = /\d{16}|\d[eE][+-]?\d/;
const SAFE = Number.MAX_SAFE_INTEGER;
const LOSES_DIGITS = `is a number that would lose digits (integers are exact up to ±${SAFE}): send it as a string`;

/** Thrown instead of a value in which a number would have changed. */
export class InexactJson extends Error {
  readonly fault: FieldError;

  constructor(path: string) {
    super(`${path === '' ? 'the value' : path} ${LOSES_DIGITS}`);
    this.fault = { path, message: LOSES_DIGITS };
  }
}

/**
 * `JSON.parse` that also throws `InexactJson` where a number would change. `isStrict`: the text may have been parsed and
 * written before, so that a large integer may have lost its digits already; each one is refused.
 */
export function parseExactJson(text: string, { isStrict = false } = {}): unknown {
  const value: unknown = JSON.parse(text);
  const [first] = inexactNumbers(text, { isStrict, most: 1, isKept: () => true });
  if (first !== undefined) throw new InexactJson(fieldPath(first.keys ?? []));
  return value;
}

/** Path of a member as keys. */
export type Keys = readonly PropertyKey[];

/** `JSON.parse` in which each number that would change, and that `isKept`, is a string of its digits; `kept` has their places. */
export function parseKeepingDigits(
  text: string,
  isKept: (keys: Keys) => boolean = () => true,
): { value: unknown; kept: Keys[] } {
  const value: unknown = JSON.parse(text);
  const found = inexactNumbers(text, { isStrict: false, most: Infinity, isKept });
  if (found.length === 0) return { value, kept: [] };
  const written = rewritten(text, found, (digits) => `"${digits}"`);
  return { value: JSON.parse(written) as unknown, kept: found.flatMap(({ keys }) => (keys ? [keys] : [])) };
}

/**
 * The JSON text with an integer above 2^53 in place of each number that overflows or vanishes: a reader that parses it and
 * writes it again would make null or 0 of that, and `isStrict` could not tell it from a right one.
 */
export function markLostNumbers(text: string): string {
  const found = inexactNumbers(text, { isStrict: false, most: Infinity });
  const lost = found.filter(({ start, end }) => {
    const value = Number(text.slice(start, end));
    return value === 0 || !Number.isFinite(value);
  });
  return lost.length === 0 ? text : rewritten(text, lost, () => String(SAFE + 1));
}

function rewritten(text: string, found: readonly FoundNumber[], write: (digits: string) => string): string {
  let written = '';
  let end = 0;
  for (const number of found) {
    written += `${text.slice(end, number.start)}${write(text.slice(number.start, number.end))}`;
    end = number.end;
  }
  return written + text.slice(end);
}

interface FoundNumber {
  readonly start: number;
  readonly end: number;
  /** null: it was not asked for, or the places before it have used up `MOST_KEYS`. */
  readonly keys: Keys | null;
}

/** Keys of all places together: a hostile text has many numbers far below its top. */
const MOST_KEYS = 500_000;

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const NINE = 0x39;
const ZERO = 0x30;
const COLON = 0x3a;
const UPPER_E = 0x45;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const LOWER_E = 0x65;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

interface Search {
  readonly isStrict: boolean;
  readonly most: number;
  /** Absent: all, without their places. Gets a list that changes afterwards. */
  readonly isKept?: (keys: Keys) => boolean;
}

/** `text` is valid JSON. The first `most` numbers in it that would change. */
function inexactNumbers(text: string, { isStrict, most, isKept }: Search): FoundNumber[] {
  const found: FoundNumber[] = [];
  if (!SUSPECT.test(text)) return found;
  const place = createPlace();
  let spareKeys = MOST_KEYS;
  let [keyStart, keyEnd] = [0, 0];
  for (let at = 0; at < text.length && found.length < most; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      keyStart = at;
      at = endOfString(text, at + 1);
      keyEnd = at + 1;
    } else if (code === COLON) place.name(text.slice(keyStart, keyEnd));
    else if (code === COMMA) place.next();
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) place.open(code === OPEN_ARRAY);
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) place.close();
    else if (isDigit(code) || code === MINUS) {
      const [start, end] = [at, endOfNumber(text, at + 1)];
      at = end - 1;
      if (!isInexact(text, start, end, isStrict)) continue;
      const keys = isKept === undefined ? null : place.keys();
      if (keys !== null && isKept?.(keys) === false) continue;
      spareKeys -= keys?.length ?? 0;
      found.push({ start, end, keys: keys !== null && spareKeys >= 0 ? [...keys] : null });
    }
  }
  return found;
}

/** The keys that lead to the current value; each is read once, however many numbers are below it. */
function createPlace() {
  const keys: PropertyKey[] = [];
  /** From here on the keys are as they are written. */
  let unread = 0;
  return {
    name(written: string): void {
      keys[keys.length - 1] = written;
      unread = Math.min(unread, keys.length - 1);
    },
    next(): void {
      const last = keys.length - 1;
      const key = keys[last];
      if (typeof key === 'number') keys[last] = key + 1;
    },
    open(isArray: boolean): void {
      unread = Math.min(unread, keys.length);
      keys.push(isArray ? 0 : '""');
    },
    close(): void {
      keys.pop();
    },
    keys(): Keys {
      for (; unread < keys.length; unread += 1) {
        const key = keys[unread];
        if (typeof key === 'string') keys[unread] = JSON.parse(key) as string;
      }
      return keys;
    },
  };
}

function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let first = quote;
    while (text.charAt(first - 1) === '\\') first -= 1;
    if ((quote - first) % 2 === 0) return quote;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let end = start;
  while (isOfNumber(text.charCodeAt(end))) end += 1;
  return end;
}

function isOfNumber(code: number): boolean {
  return (
    isDigit(code) || code === DOT || code === LOWER_E || code === UPPER_E || code === PLUS || code === MINUS
  );
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/** Longer ones are refused without being compared. */
const MOST_COMPARED = 1_000;

function isInexact(text: string, start: number, end: number, isStrict: boolean): boolean {
  const source = text.slice(start, end);
  const value = Number(source);
  if (Math.abs(value) <= SAFE) return value === 0 && /[1-9]/.test(source.split(/[eE]/, 1)[0] ?? '');
  if (isStrict || !Number.isFinite(value) || source.length > MOST_COMPARED) return true;
  return decimalOf(source) !== decimalOf(String(value));
}

/** One spelling for each decimal number. */
function decimalOf(source: string): string {
  const [mantissa = '', exponent = '0'] = source.replace('-', '').split(/e/i);
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  let length = digits.length;
  while (digits.charCodeAt(length - 1) === ZERO) length -= 1;
  const significant = digits.slice(0, length);
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
