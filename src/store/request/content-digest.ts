// The digest by which the journal tells the same content under an id from other content.
// Must never change: a digest is compared with stored ones.
import { hash } from 'node:crypto';
import { canonicalJson } from '../../contract/json/canonical-json.ts';

/** 128 bits of SHA-256. */
const DIGEST_CHARACTERS = 22;

/** The digest of a value that passed the JSON guard; the order of its keys has no effect. */
export function contentDigest(content: object): string {
  return hash('sha256', canonicalJson(content), 'base64url').slice(0, DIGEST_CHARACTERS);
}
