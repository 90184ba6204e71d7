/** JSON that a person types. Never loses the text: a fault says what is wrong with it. */
import { isObject } from '../../src/contract/json/json-object.ts';

export type TypedObject = { readonly value: Record<string, unknown> } | { readonly fault: string };

export function readObject(text: string): TypedObject {
  const read = readJson(text);
  if ('fault' in read) return read;
  return isObject(read.value) ? { value: read.value } : { fault: 'must be a JSON object: { … }' };
}

export function readJson(text: string): { readonly value: unknown } | { readonly fault: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `is not JSON: ${(error as Error).message}` };
  }
}

/** null: the text is a JSON object. */
export function objectFault(text: string): string | null {
  const read = readObject(text);
  return 'fault' in read ? read.fault : null;
}

/** The value of the JSON, or the text itself where it is none. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The value where it is a text; else ''. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
