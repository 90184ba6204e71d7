// How an encrypted value is known for one, for readers who do not have its key.
// Must never need a library: pages of the browser read it as well.
import { isObject } from '../json/json-object.ts';

/** Name of the only member of an object that represents an encrypted value. */
export const ENCRYPTED = '$encrypted';

/** The id of the key with which `value` is encrypted, also where only its head is left; null: it is in clear. */
export function encryptedKeyId(value: unknown): string | null {
  const encoded = isObject(value) && Object.hasOwn(value, ENCRYPTED) ? value[ENCRYPTED] : undefined;
  return isObject(encoded) && typeof encoded['key_id'] === 'string' ? encoded['key_id'] : null;
}

/** Text that represents an encrypted text in listings. */
export function encryptedNote(keyId: string): string {
  return `encrypted with the key "${keyId}"`;
}

/**
 * The same of a value that is nothing else than that, so that who decides about it overlooks nothing: a model may write something like
 * it itself. A tool gets a value of this form in no case, except for the id alone.
 */
export function encryptedAlone(value: unknown): string | null {
  const keyId = encryptedKeyId(value);
  if (keyId === null || Object.keys(Object(value)).length !== 1 || !NAME.test(keyId)) return null;
  const { key_id: _id, codec, data, ...rest } = Object(Object(value)[ENCRYPTED]) as Record<string, unknown>;
  if (Object.keys(rest).length > 0) return null;
  if (codec === undefined && data === undefined) return keyId;
  const isForm = typeof codec === 'string' && /^[A-Za-z0-9._-]{1,32}$/.test(codec);
  return isForm && typeof data === 'string' && /^[A-Za-z0-9_-]+$/.test(data) ? keyId : null;
}

const NAME = /^[A-Za-z0-9._-]{1,64}$/;
