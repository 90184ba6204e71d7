// How an encrypted value is known for one, for readers who do not have its key.
// Must never need a library: pages of the browser read it as well.
import { isObject } from './json-object.ts';

/** The only member of an object that stands for an encrypted value. */
export const ENCRYPTED = '$encrypted';

/** The id of the key with which `value` is encrypted, also where only its head is left; null: it is in clear. */
export function encryptedKeyId(value: unknown): string | null {
  const encoded = isObject(value) && Object.hasOwn(value, ENCRYPTED) ? value[ENCRYPTED] : undefined;
  return isObject(encoded) && typeof encoded['key_id'] === 'string' ? encoded['key_id'] : null;
}

/** What stands where a text was. */
export function encryptedNote(keyId: string): string {
  return `encrypted with the key "${keyId}"`;
}
