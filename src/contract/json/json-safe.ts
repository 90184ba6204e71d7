// Turns any value into bounded JSON: the form in which foreign data enters an envelope.
// Must never throw or exceed its bounds; a second pass must change nothing.

/** JSON value. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** How much of a value is kept. */
export interface JsonBounds {
  /** Levels of nesting; what lies deeper becomes a marker. Default 8. */
  depth?: number;
  /** Items of a list or members of an object, the marker for the rest included. Default 100. */
  entries?: number;
  /** UTF-16 units of a string, the marker included. Default 16 384. */
  characters?: number;
  /** Values in all, which also bounds values with shared sub-objects. Default 10 000. */
  values?: number;
}

/** Text that represents omitted content. */
export const TRUNCATED = '...[truncated]';
/** The key of the member that names the class of an object that is not plain. */
export const CLASS_KEY = '__class__';
/** Key of the member that represents omitted members. */
export const TRUNCATED_KEY = '__truncated__';

const HIGHEST_DEPTH = 512;
const UNREADABLE = '[Unreadable]';

interface Walk {
  readonly entries: number;
  readonly characters: number;
  readonly open: Set<object>;
  valuesLeft: number;
}

/** Converts any value to JSON within bounds. Never throws. */
export function jsonSafe(value: unknown, bounds: JsonBounds = {}): JsonValue {
  const walk: Walk = {
    entries: bounds.entries ?? 100,
    characters: bounds.characters ?? 16_384,
    open: new Set(),
    valuesLeft: bounds.values ?? 10_000,
  };
  return convert(value, Math.min(bounds.depth ?? 8, HIGHEST_DEPTH), walk);
}

/** A string that is well-formed Unicode and within `characters`. */
export function boundedText(text: string, characters = 16_384): string {
  if (text.length <= characters) return text.toWellFormed();
  return `${text.slice(0, characters - TRUNCATED.length)}`.toWellFormed() + TRUNCATED;
}

function convert(value: unknown, depthLeft: number, walk: Walk): JsonValue {
  try {
    walk.valuesLeft -= 1;
    if (walk.valuesLeft < 0) return TRUNCATED;
    return typeof value === 'object' && value !== null
      ? convertObject(value, depthLeft, walk)
      : convertScalar(value, walk);
  } catch {
    return UNREADABLE;
  }
}

function convertScalar(value: unknown, walk: Walk): JsonValue {
  if (typeof value === 'boolean') return value;
  // JSON has one zero; adding 0 turns -0 into it.
  if (typeof value === 'number' && Number.isFinite(value)) return value + 0;
  if (value === null || value === undefined) return null;
  return boundedText(scalarText(value), walk.characters);
}

function scalarText(value: unknown): string {
  if (typeof value === 'bigint') return bigintText(value);
  if (typeof value === 'function') return `[Function ${String(value.name) || 'anonymous'}]`;
  return String(value);
}

/** A bigint as it is written in code; one that is slow to print becomes a marker. */
function bigintText(value: bigint): string {
  return BigInt.asIntN(4096, value) === value ? `${value}n` : '[BigInt]';
}

function convertObject(value: object, depthLeft: number, walk: Walk): JsonValue {
  if (walk.open.has(value)) return '[Circular]';
  const text = textOf(value);
  if (text !== null) return boundedText(text, walk.characters);
  if (depthLeft <= 0) return TRUNCATED;
  walk.open.add(value);
  try {
    return convertContainer(value, depthLeft - 1, walk);
  } finally {
    walk.open.delete(value);
  }
}

/** Objects that a reader sees as one value. */
function textOf(value: object): string | null {
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
    return `[BINARY ${value.byteLength} bytes]`;
  }
  if (value instanceof URL) return value.href;
  return value instanceof RegExp ? String(value) : null;
}

function convertContainer(value: object, depthLeft: number, walk: Walk): JsonValue {
  if (Array.isArray(value)) return convertList(value, value.length, depthLeft, walk);
  if (value instanceof Set) return convertSet(value, depthLeft, walk);
  if (value instanceof Map) return convertMap(value, depthLeft, walk);
  if (value instanceof Error) return convertError(value, depthLeft, walk);
  return convertKeys(value, Object.keys(value), depthLeft, walk, classMember(value));
}

type Member = readonly [key: string, value: unknown];

/** The class of an instance, as the first of its members; none for a plain object. */
function classMember(value: object): Member[] {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return [];
  const name = className(value);
  return name === '' || name === 'Object' ? [] : [[CLASS_KEY, name]];
}

/** '' when it is unknown. */
function className(value: object): string {
  const made = readMember(value, 'constructor');
  const name = typeof made === 'function' ? readMember(made, 'name') : '';
  return typeof name === 'string' ? name : '';
}

function convertSet(set: Set<unknown>, depthLeft: number, walk: Walk): JsonValue {
  const first = firstOf(set, walk.entries);
  const values = depthLeft <= 0 ? TRUNCATED : convertList(first, set.size, depthLeft - 1, walk);
  return { [CLASS_KEY]: 'Set', values };
}

/** An error without a name of its own is named by its class. */
function convertError(error: Error, depthLeft: number, walk: Walk): JsonValue {
  const named: Member[] = error.name === 'Error' ? [['name', className(error) || 'Error']] : [];
  const keys = errorKeys(error).filter((key) => named.length === 0 || key !== 'name');
  return convertKeys(error, keys, depthLeft, walk, named);
}

function convertList(items: ArrayLike<unknown>, size: number, depthLeft: number, walk: Walk): JsonValue {
  const kept = size <= walk.entries ? size : walk.entries - 1;
  const list: JsonValue[] = [];
  for (let index = 0; index < kept; index += 1) list.push(convert(items[index], depthLeft, walk));
  if (kept < size) list.push(`...[truncated ${size - kept} items]`);
  return list;
}

function convertMap(map: Map<unknown, unknown>, depthLeft: number, walk: Walk): JsonValue {
  const members = firstOf(map, walk.entries).map(
    ([key, value]) => [typeof key === 'string' ? key : keyText(key, walk), value] as const,
  );
  return convertMembers([[CLASS_KEY, 'Map'], ...members], map.size + 1, depthLeft, walk);
}

/** A key that is not a string, as text. */
function keyText(key: unknown, walk: Walk): string {
  const safe = convert(key, 2, walk);
  return typeof safe === 'string' ? safe : JSON.stringify(safe);
}

/** `message`, `cause` and the `errors` of an aggregate are own but not enumerable on most errors; a stack is never shown. */
function errorKeys(error: Error): string[] {
  const own = Object.keys(error).filter((key) => key !== 'stack' && key !== 'message' && key !== 'name');
  return [
    'name',
    'message',
    ...own,
    ...['cause', 'errors'].filter((key) => Object.hasOwn(error, key) && !own.includes(key)),
  ];
}

function convertKeys(
  value: object,
  keys: readonly string[],
  depthLeft: number,
  walk: Walk,
  first: readonly Member[] = [],
): JsonValue {
  const kept = keys.length <= walk.entries ? keys : keys.slice(0, walk.entries);
  const members = [...first, ...kept.map((key) => [key, readMember(value, key)] as const)];
  return convertMembers(members, first.length + keys.length, depthLeft, walk);
}

function readMember(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return UNREADABLE;
  }
}

function convertMembers(members: readonly Member[], size: number, depthLeft: number, walk: Walk): JsonValue {
  const kept = size <= walk.entries ? members : members.slice(0, walk.entries - 1);
  const object: { [key: string]: JsonValue } = {};
  for (const [key, value] of kept) {
    if (value === undefined || key === '__proto__') continue;
    object[boundedText(key, 256)] = convert(value, depthLeft, walk);
  }
  if (kept.length < size) object[TRUNCATED_KEY] = size - kept.length;
  return object;
}

function firstOf<T>(items: Iterable<T>, count: number): T[] {
  const first: T[] = [];
  for (const item of items) {
    if (first.length >= count) break;
    first.push(item);
  }
  return first;
}
