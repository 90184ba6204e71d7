// The time of day with fractions of a millisecond: the monotonic clock, set anew when it has left the system's clock.
// Must never be used for a decision: spans show it, and nothing else.

/** A machine that slept, or whose clock was set, is further off than this. Milliseconds. */
const MOST_OFF_MS = 20;

export interface Clocks {
  /** Milliseconds since the epoch. */
  readonly system: () => number;
  /** Milliseconds from any origin. */
  readonly monotonic: () => number;
}

const REAL: Clocks = { system: () => Date.now(), monotonic: () => performance.now() };

export function createWallClock({ system, monotonic }: Clocks = REAL): () => number {
  let offset = system() - monotonic();
  return () => {
    const at = monotonic() + offset;
    const off = system() - at;
    if (Math.abs(off) <= MOST_OFF_MS) return at;
    offset += off;
    return at + off;
  };
}
