/** Measures JSON before it is parsed: a small text can become a value that is too large or too deep.
 *  It must never parse or copy, nor throw on invalid JSON. */

export interface JsonLimits {
  /** Levels of arrays and objects. */
  readonly maxDepth: number;
  /** Members, elements and containers together. */
  readonly maxValues: number;
  /** Containers alone. Default: as `maxValues`. */
  readonly maxContainers?: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Most bytes are part of names, texts and numbers: a table skips them. */
const STRUCTURE = new Uint8Array(256);
for (const byte of [QUOTE, COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]) STRUCTURE[byte] = 1;

/** Shorter strings are read byte by byte; searching ahead pays only for longer ones. */
const SHORT_STRING_BYTES = 48;

/** A check by length alone: each level needs two bytes, each value one. */
export function isWithin(
  bytes: number,
  { maxDepth, maxValues, maxContainers = maxValues }: JsonLimits,
): boolean {
  return bytes <= 2 * maxDepth && bytes <= maxValues && bytes <= maxContainers;
}

/** Which limit the text crosses, in words; null: none. */
export function jsonExcess(json: Buffer, limits: JsonLimits): string | null {
  return isWithin(json.length, limits) ? null : (jsonShape(json, limits).excess?.text ?? null);
}

export interface JsonShape {
  /** Members, elements and containers, up to the first crossed limit. */
  readonly values: number;
  /** The first limit that the text crosses; null: none. */
  readonly excess: { readonly limit: 'depth' | 'values' | 'containers'; readonly text: string } | null;
}

/** Counts depth, values and containers in one pass, which ends at the first crossed limit. */
export function jsonShape(json: Buffer, limits: JsonLimits): JsonShape {
  const { maxDepth, maxValues, maxContainers = maxValues } = limits;
  let depth = 0;
  let containers = 0;
  let values = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (STRUCTURE[byte] === 0) continue;
    if (byte === QUOTE) {
      at = endOfString(json, at + 1);
      continue;
    }
    if (byte === COMMA) values += 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values += 1;
      containers += 1;
      depth += 1;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth -= 1;
    if (depth > maxDepth)
      return { values, excess: { limit: 'depth', text: `is nested deeper than ${maxDepth} levels` } };
    if (values > maxValues)
      return { values, excess: { limit: 'values', text: `has more than ${maxValues} values` } };
    if (containers > maxContainers) {
      const text = `has more than ${maxContainers} objects and arrays`;
      return { values, excess: { limit: 'containers', text } };
    }
  }
  return { values, excess: null };
}

/** Where the string that begins at `start` has its closing quote; the end of the text when it has none. */
function endOfString(json: Buffer, start: number): number {
  const near = Math.min(json.length, start + SHORT_STRING_BYTES);
  for (let at = start; at < near; at += 1) {
    if (json[at] === BACKSLASH) at += 1;
    else if (json[at] === QUOTE) return at;
  }
  for (let quote = json.indexOf(QUOTE, start); quote !== -1; quote = json.indexOf(QUOTE, quote + 1)) {
    if (backslashesBefore(json, quote, start) % 2 === 0) return quote;
  }
  return json.length;
}

function backslashesBefore(json: Buffer, quote: number, start: number): number {
  let first = quote;
  while (first > start && json[first - 1] === BACKSLASH) first -= 1;
  return quote - first;
}
