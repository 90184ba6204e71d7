// JSON whose strings are well-formed Unicode: a half of a surrogate pair, which no UTF-8 can hold, becomes U+FFFD.
// Must never copy a value that is well-formed, nor change anything but such halves.
import { isObject } from './json-object.ts';

/** `value` is JSON within the depth that `findJsonHazard` allows. The value itself where nothing is to be replaced. */
export function wellFormed<T>(value: T): T {
  return isWellFormed(value) ? value : (replaced(value) as T);
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (!isObject(value)) return true;
  return Object.keys(value).every((key) => key.isWellFormed() && isWellFormed(value[key]));
}

function replaced(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(replaced);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.toWellFormed(), replaced(member)]),
  );
}

/** A lone surrogate, as `JSON.stringify` writes it: pairs are written as they are. */
const WRITTEN = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** The same for a text that `JSON.stringify` has written. */
export function wellFormedJson(json: string): string {
  return json.includes('\\ud') ? json.replace(WRITTEN, '$1\u{fffd}') : json;
}
