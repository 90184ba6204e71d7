// The text of a session's cookie, `<key id>.<secret>`, of a person `<id>.<secret>.<claims>`, and what is derived from it.
// Must never be kept as it is: Redis has only a hash that also needs the hash of the key.
import { randomBytes } from 'node:crypto';
import { digestOf, sameDigest } from './key-text.ts';

const SECRET_BYTES = 32;
const TEXT =
  /^(?<keyId>[a-z0-9]{1,32})\.(?<secret>[A-Za-z0-9_-]{43})(?:\.(?<claims>[A-Za-z0-9_-]{1,3000}))?$/;

export interface SessionText {
  readonly keyId: string;
  readonly secret: string;
  /**
   * The issuer's claims about a person; null: the session represents a key. Anyone can write them: the hash in Redis
   * covers them.
   */
  readonly claims: string | null;
}

export function newSession(
  keyId: string,
  claims: string | null = null,
  random: (bytes: number) => Buffer = randomBytes,
): SessionText {
  return { keyId, secret: random(SECRET_BYTES).toString('base64url'), claims };
}

export function sessionText({ keyId, secret, claims }: SessionText): string {
  return claims === null ? `${keyId}.${secret}` : `${keyId}.${secret}.${claims}`;
}

/** null: it has not the form of one. */
export function readSession(text: string): SessionText | null {
  const { keyId, secret, claims = null } = TEXT.exec(text)?.groups ?? {};
  return keyId === undefined || secret === undefined ? null : { keyId, secret, claims };
}

/**
 * The entry in Redis. A key that is replaced by another of the same id, as that of the environment may be, ends its
 * sessions.
 */
export function sessionMember({ secret }: Pick<SessionText, 'secret'>, keyDigest: string): string {
  return digestOf(`session:${keyDigest}:${secret}`);
}

/** A token that a page of this service can read, and a page of another service cannot. */
export function csrfToken({ secret }: Pick<SessionText, 'secret'>): string {
  return digestOf(`csrf:${secret}`);
}

export function isCsrfToken(session: SessionText, given: string): boolean {
  return /^[0-9a-f]{64}$/.test(given) && sameDigest(csrfToken(session), given);
}
