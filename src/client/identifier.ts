/** New ids: UUID version 7, of random bytes that are drawn in large portions, since each draw costs more than an id.
 *  It must never be used as a secret, nor use a byte twice. */
import { v7 } from 'uuid';

const ID_BYTES = 16;
const pool = new Uint8Array(64 * ID_BYTES);
let used = pool.length;

export function newIdentifier(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += ID_BYTES;
  return v7({ random: pool.subarray(used - ID_BYTES, used) });
}
