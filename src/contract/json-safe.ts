// Any value at all, as bounded JSON.
// Must never throw, recurse past its depth bound, or run a caller's code twice.

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

export interface JsonBounds {
  depth?: number;
  entries?: number;
  characters?: number;
}

export function jsonSafe(value: unknown, _bounds: JsonBounds = {}): JsonValue {
  return JSON.parse(JSON.stringify(value) ?? 'null') as JsonValue;
}
