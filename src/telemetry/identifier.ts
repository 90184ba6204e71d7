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

/** When an identifier was made: milliseconds since the epoch, by the clock of its process. null: it is not one of ours. */
export function identifierAt(identifier: string): number | null {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(identifier)) return null;
  return Number.parseInt(identifier.slice(0, 8) + identifier.slice(9, 13), 16);
}
