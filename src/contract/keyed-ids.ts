// The ids of what is submitted under an idempotency key: alike in the service, and in a client that needs them before.
// Must never be random, nor differ from one version to the next.

const KEY_ID_LENGTH = 32;

export interface KeyedIds {
  readonly request: string;
  readonly directive: (index: number) => string;
}

/** `digest`: the SHA-256 of the key, hex. */
export function keyedIdsOf(digest: string): KeyedIds {
  const request = `key-${digest.slice(0, KEY_ID_LENGTH)}`;
  return { request, directive: (index) => `${request}.${index + 1}` };
}
