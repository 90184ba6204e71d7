// New ids: UUID version 7, which sort in the order they were made in this process, and short ones.
// Must never be used as a secret.
import { SHORT_ID_RANDOM_BYTES, shortIdAt, shortIdOf } from '../../contract/short-id.ts';
import { randomByteFromPool, randomBytesFromPool, randomHex } from './random-pool.ts';

/** The counter begins below this in each millisecond, so that it cannot overflow in one. */
const COUNTER_START = 2 ** 30;

let lastMs = 0;
/** 32 bits, which stand after the time. */
let counter = 0;
/** The time as an id begins with it: the same for all ids of a millisecond. */
let timePart = '';

export function newIdentifier(now: number = Date.now()): string {
  if (now > lastMs) {
    lastMs = now;
    counter = Number.parseInt(randomHex(4), 16) % COUNTER_START;
    const time = now.toString(16).padStart(12, '0');
    timePart = `${time.slice(0, 8)}-${time.slice(8)}-`;
  } else {
    counter += 1;
  }
  const [first, second] = [0x7000 | (counter >>> 20), 0x8000 | ((counter >>> 6) & 0x3fff)];
  const last = ((counter << 2) & 0xff) | (randomByteFromPool() & 3);
  return `${timePart}${first.toString(16)}-${second.toString(16)}-${HEX[last]}${randomHex(5)}`;
}

export function newShortId(now: number = Date.now()): string {
  return shortIdOf(now, randomBytesFromPool(SHORT_ID_RANDOM_BYTES));
}

/** Digits by which the claims of this process are recognised; its id begins with them. */
const CODE_DIGITS = 6;
export const PROCESS_CODE = newShortId().slice(-CODE_DIGITS);

/** A short id whose last digits are the code of this process, so that a claim names its worker without another byte. */
export function newClaimToken(): string {
  return newShortId().slice(0, -CODE_DIGITS) + PROCESS_CODE;
}

/** The code of the process that made a token; null: another form of token. */
export function processCodeOf(token: string): string | null {
  return /^[0-9a-v]{17}([0-9a-v]{6})(?![0-9a-v])/.exec(token)?.[1] ?? null;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** When an identifier was made: milliseconds since the epoch, by the clock of its process. null: another form of identifier. */
export function identifierAt(identifier: string): number | null {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(identifier)) return shortIdAt(identifier);
  return Number.parseInt(identifier.slice(0, 8) + identifier.slice(9, 13), 16);
}
