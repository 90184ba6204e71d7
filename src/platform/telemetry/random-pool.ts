// Random bytes drawn in large portions: a system call for each id would cost more than the id.
// Must never hand out a byte twice, nor be used for secrets.
import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 8_192;

const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/** Where `count` fresh bytes begin, at most 256. */
function draw(count: number): number {
  if (used + count > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return used - count;
}

export function randomByteFromPool(): number {
  return pool[draw(1)] ?? 0;
}

/** `count` fresh bytes, to be read before the next call. */
export function randomBytesFromPool(count: number): Uint8Array {
  const start = draw(count);
  return pool.subarray(start, start + count);
}

/** `count` fresh bytes in hexadecimal. */
export function randomHex(count: number): string {
  const start = draw(count);
  return pool.toString('hex', start, start + count);
}
