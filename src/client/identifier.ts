/** New ids: UUID version 7, and short ones, of random bytes that are drawn in large portions, since each draw costs more than an id.
 *  It must never be used as a secret, nor use a byte twice. */
import { v7 } from 'uuid';
import { shortIdOf } from '../contract/short-id.ts';

/** More than a short one needs. */
const ID_BYTES = 16;
const pool = new Uint8Array(64 * ID_BYTES);
let used = pool.length;

function freshBytes(): Uint8Array {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.subarray(used - ID_BYTES, used);
}

export function newIdentifier(): string {
  return v7({ random: freshBytes() });
}

export function newShortId(): string {
  return shortIdOf(Date.now(), freshBytes());
}
