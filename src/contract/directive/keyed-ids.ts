// The ids of what is submitted under an idempotency key: alike in the service, and in a client that needs them before.
// Must never be random, nor differ from one version to the next.

/** As it travels in a header. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
/** Description of the form of an idempotency key. */
export const IDEMPOTENCY_KEY_FORM = 'must be 1 to 255 visible ASCII characters';

const KEY_ID_LENGTH = 32;

/** Ids that an idempotency key determines. */
export interface KeyedIds {
  readonly request: string;
  readonly directive: (index: number) => string;
}

/** `digest`: the SHA-256 of the key, hex. */
export function keyedIdsOf(digest: string): KeyedIds {
  const request = `key-${digest.slice(0, KEY_ID_LENGTH)}`;
  return { request, directive: (index) => `${request}.${index + 1}` };
}
