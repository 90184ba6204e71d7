/** The machine's monotonic clock, which all its processes share (Linux).
 *  It must not be compared with that of another machine. */

/** Milliseconds with three decimals, since some moment before all processes. */
export function monotonicMs(): string {
  return (Number(process.hrtime.bigint() / 1_000n) / 1_000).toFixed(3);
}
