// The text of an API key: `adj_<id>_<secret>`, how one is made, read and compared.
// Must never keep a secret: only its hash leaves this file, besides the one text that is shown.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { KEY_MARK } from '../../contract/access/access.ts';

const ID_BYTES = 6;
const SECRET_BYTES = 32;
const KEY = new RegExp(`^${KEY_MARK}(?<id>[0-9a-f]{12})_[A-Za-z0-9_-]{43}$`);

export interface NewKey {
  readonly id: string;
  readonly text: string;
  readonly digest: string;
}

/** A key has 256 random bits and cannot be guessed, so that a fast hash is enough. */
export function newKey(random: (bytes: number) => Buffer = randomBytes): NewKey {
  const id = random(ID_BYTES).toString('hex');
  const text = `${KEY_MARK}${id}_${random(SECRET_BYTES).toString('base64url')}`;
  return { id, text, digest: digestOf(text) };
}

/** null: it has not the form of a key. */
export function keyIdOf(text: string): string | null {
  return KEY.exec(text)?.groups?.['id'] ?? null;
}

/** The digest of the whole text, as hex. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Takes the same time whatever differs. Both are digests. */
export function sameDigest(left: string, right: string): boolean {
  return timingSafeEqual(Buffer.from(left, 'latin1'), Buffer.from(right, 'latin1'));
}

/**
 * The digest that an unknown key is compared with, so that it costs the same as a known one. No text has this digest.
 */
export const NO_DIGEST = '0'.repeat(64);
