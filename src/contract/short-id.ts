// Ids of requests, claims and inboxes, as service and client make them: short, since they stand in many keys, fields and lines of the append-only file.
// Must never be used as a secret.

/** Base 32 of 0-9 and a-v: it sorts as the number does. 45 bits of milliseconds last until the year 3084. */
const TIME_DIGITS = 9;

const SHORT_ID = /^[0-9a-v]{23}$/;

/** With five bits of each: 70 bits. */
export const SHORT_ID_RANDOM_BYTES = 14;

const DIGITS = Array.from({ length: 256 }, (_, byte) => (byte & 31).toString(32));

/** `random`: at least 14 bytes. 23 characters, which begin with the time, so that those of different milliseconds sort by it. */
export function shortIdOf(nowMs: number, random: Uint8Array): string {
  let id = nowMs.toString(32).padStart(TIME_DIGITS, '0');
  for (let at = 0; at < SHORT_ID_RANDOM_BYTES; at += 1) id += DIGITS[random[at] ?? 0] ?? '';
  return id;
}

/** When it was made, milliseconds since the epoch, by the clock of its process. null: it is no id of this form. */
export function shortIdAt(id: string): number | null {
  return SHORT_ID.test(id) ? Number.parseInt(id.slice(0, TIME_DIGITS), 32) : null;
}
