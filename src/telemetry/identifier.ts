// New ids: UUID version 7, which sort by the time they were made.
// Must never be asked for a secret.
import { v7 } from 'uuid';
import { randomBytesFromPool } from './random-pool.ts';

const options = { rng: (): Uint8Array => randomBytesFromPool(16) };

export function newIdentifier(): string {
  return v7(options);
}
