// Random bytes drawn in large portions: a system call for each id would cost more than the id.
// Must never hand out a byte twice, nor be used for secrets.
import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 8_192;

const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** A view of `count` fresh bytes, at most 256; valid until the caller's next turn of the event loop. */
export function randomBytesFromPool(count: number): Uint8Array {
  if (used + count > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return pool.subarray(used - count, used);
}

/** `count` fresh bytes in hexadecimal. */
export function randomHex(count: number): string {
  const { buffer, byteOffset } = randomBytesFromPool(count);
  return Buffer.from(buffer, byteOffset, count).toString('hex');
}
