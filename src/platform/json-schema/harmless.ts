/** Decides which schemas and values are checked on the main thread: small ones, without anything that may take long.
 *  It must never judge by what a schema means, only by what it holds: in doubt it is not harmless. */

/** Compiling takes about 0.1 ms for each JSON value of a schema, once. */
const MAX_SCHEMA_VALUES = 150;
const MAX_SCHEMA_CHARACTERS = 16_384;
const MAX_SCHEMA_DEPTH = 24;
/** Each value of a schema may be compared with each of the checked value, at about 0.1 µs: 20 ms at most. */
const MAX_COMPARISONS = 200_000;
const CHARACTERS_PER_VALUE = 64;

/** Keywords that take a pattern, compare all with all, or refer back; with the type of value that makes them active. */
const COSTLY_KEYWORDS: ReadonlyMap<string, 'string' | 'object' | 'boolean'> = new Map([
  ['pattern', 'string'],
  ['patternProperties', 'object'],
  ['uniqueItems', 'boolean'],
  ['$ref', 'string'],
  ['$dynamicRef', 'string'],
  ['$recursiveRef', 'string'],
]);

/** Each of these is checked in one pass; other formats are long patterns, or unknown. */
const PLAIN_FORMATS: ReadonlySet<unknown> = new Set([
  'date',
  'time',
  'date-time',
  'uuid',
  'ipv4',
  'int32',
  'int64',
  'float',
  'double',
  'binary',
  'password',
]);

/** How many JSON values a harmless schema holds; null: it is not harmless. */
export function harmlessSize(schema: unknown): number | null {
  const open: [value: unknown, depth: number][] = [[schema, 0]];
  let values = 0;
  let characters = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next;
    values += 1;
    if (typeof value === 'string') characters += value.length;
    if (values + open.length > MAX_SCHEMA_VALUES || depth > MAX_SCHEMA_DEPTH) return null;
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value) && value.length > MAX_SCHEMA_VALUES) return null;
    for (const key of Object.keys(value)) {
      const member = (value as Record<string, unknown>)[key];
      if (isCostly(key, member)) return null;
      characters += key.length;
      open.push([member, depth + 1]);
      if (open.length > MAX_SCHEMA_VALUES) return null;
    }
    if (characters > MAX_SCHEMA_CHARACTERS) return null;
  }
  return characters > MAX_SCHEMA_CHARACTERS ? null : values;
}

/** Also true for a property with the name of a keyword and a value of its type; that only costs time. */
function isCostly(key: string, member: unknown): boolean {
  if (key === 'format') return typeof member === 'string' && !PLAIN_FORMATS.has(member);
  return COSTLY_KEYWORDS.get(key) === typeof member && member !== false;
}

/** Whether a harmless schema of this size checks the value in a few milliseconds. */
export function isQuickToCheck(value: unknown, schemaSize: number): boolean {
  return costWithin(value, MAX_COMPARISONS / schemaSize) !== null;
}

/** Stops counting at `most`. */
export function holdsMoreThan(value: unknown, most: number): boolean {
  return costWithin(value, most) === null;
}

/** The number of values, long texts counted by their length; null: more than `most`. */
function costWithin(value: unknown, most: number): number | null {
  const open: unknown[] = [value];
  let cost = 0;
  while (open.length > 0) {
    const next = open.pop();
    cost += typeof next === 'string' ? 1 + next.length / CHARACTERS_PER_VALUE : 1;
    if (cost + open.length > most) return null;
    if (typeof next !== 'object' || next === null) continue;
    const members = Array.isArray(next) ? (next as unknown[]) : Object.values(next);
    if (members.length > most) return null;
    for (const member of members) open.push(member);
  }
  return cost;
}
