// The form of a request id that the service or a client makes: short, since it stands in every key, job and signal of its request.
// Must never be used as a secret.

/** Base 32 of 0-9 and a-v: it sorts as the number does. 45 bits of milliseconds last until the year 3084. */
const TIME_DIGITS = 9;

/** With five bits of each: 70 bits. */
export const REQUEST_ID_RANDOM_BYTES = 14;

const DIGITS = Array.from({ length: 256 }, (_, byte) => (byte & 31).toString(32));

/** `random`: at least 14 bytes. 23 characters, which begin with the time, so that those of different milliseconds sort by it. */
export function requestIdOf(nowMs: number, random: Uint8Array): string {
  let id = nowMs.toString(32).padStart(TIME_DIGITS, '0');
  for (let at = 0; at < REQUEST_ID_RANDOM_BYTES; at += 1) id += DIGITS[random[at] ?? 0] ?? '';
  return id;
}
