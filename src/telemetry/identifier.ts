// New ids: UUID version 7, which sort in the order they were made in this process.
// Must never be used as a secret.
import { v7 } from 'uuid';
import { randomBytesFromPool } from './random-pool.ts';

/** The counter begins below this in each millisecond, so that it cannot overflow in one. */
const COUNTER_START = 2 ** 30;

let lastMs = 0;
let counter = 0;

export function newIdentifier(now: number = Date.now()): string {
  const random = randomBytesFromPool(16);
  if (now > lastMs) {
    lastMs = now;
    counter = Buffer.from(random.buffer, random.byteOffset, 4).readUInt32BE() % COUNTER_START;
  } else {
    counter += 1;
  }
  return v7({ msecs: lastMs, seq: counter, random });
}
