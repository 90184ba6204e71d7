// Reads JSON without losing digits: integers above 2^53 and numbers that overflow or vanish are refused, or kept as text.
// Must never recurse, nor match a pattern against a text of unbounded length: its author may be hostile.
import { fieldPath } from './field-path.ts';
import type { FieldError } from './problem.ts';

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
  const [first] = inexactNumbers(text, { isStrict, most: 1 });
  if (first !== undefined) throw new InexactJson(fieldPath([...first.keys]));
  return value;
}

export type Keys = readonly PropertyKey[];

/** `JSON.parse` in which each number that would change, and that `isKept`, is a string of its digits; `kept` has their places. */
export function parseKeepingDigits(
  text: string,
  isKept: (keys: Keys) => boolean = () => true,
): { value: unknown; kept: Keys[] } {
  const value: unknown = JSON.parse(text);
  const found = inexactNumbers(text, { isStrict: false, most: Infinity }).filter(({ keys }) => isKept(keys));
  if (found.length === 0) return { value, kept: [] };
  let written = '';
  let end = 0;
  for (const number of found) {
    written += `${text.slice(end, number.start)}"${text.slice(number.start, number.end)}"`;
    end = number.end;
  }
  return { value: JSON.parse(written + text.slice(end)) as unknown, kept: found.map(({ keys }) => keys) };
}

interface FoundNumber {
  readonly start: number;
  readonly end: number;
  readonly keys: Keys;
}

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

/** `text` is valid JSON. The first `most` numbers in it that would change, with their places. */
function inexactNumbers(
  text: string,
  { isStrict, most }: { isStrict: boolean; most: number },
): FoundNumber[] {
  const found: FoundNumber[] = [];
  if (!SUSPECT.test(text)) return found;
  const keys: PropertyKey[] = [];
  let [keyStart, keyEnd] = [0, 0];
  for (let at = 0; at < text.length && found.length < most; at += 1) {
    const code = text.charCodeAt(at);
    const last = keys.length - 1;
    if (code === QUOTE) {
      keyStart = at;
      at = endOfString(text, at + 1);
      keyEnd = at + 1;
    } else if (code === COLON) keys[last] = text.slice(keyStart, keyEnd);
    else if (code === COMMA && typeof keys[last] === 'number') keys[last] += 1;
    else if (code === OPEN_OBJECT) keys.push('""');
    else if (code === OPEN_ARRAY) keys.push(0);
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) keys.pop();
    else if (isDigit(code) || code === MINUS) {
      const end = endOfNumber(text, at + 1);
      if (isInexact(text, at, end, isStrict)) found.push({ start: at, end, keys: keys.map(readKey) });
      at = end - 1;
    }
  }
  return found;
}

/** Keys are kept as they are written until one is named. */
function readKey(key: PropertyKey): PropertyKey {
  return typeof key === 'string' ? (JSON.parse(key) as string) : key;
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
  const significant = digits.replace(/0+$/, '');
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
