/** How long to wait before the next attempt to reach a server.
 *  It must never let many processes reconnect at the same instant. */

const FIRST_MS = 100;
const CAP_MS = 30_000;

/** Doubles with each failure in a row up to 30 s; half of it is random. No failure: no delay. Milliseconds. */
export function reconnectDelayMs(failures: number, random: number): number {
  if (failures <= 0) return 0;
  const ceiling = Math.min(CAP_MS, FIRST_MS * 2 ** Math.min(failures - 1, 20));
  return Math.round(ceiling * (0.5 + 0.5 * random));
}
