// How many lines of one sort the log gets in a while, and what was left out.
// Must never hide that something was left out.

export interface LineLimit {
  /** Whether the line of `sort` may be written now. */
  take(sort: string): boolean;
  /** What was left out since the last call, by sort; null: nothing. */
  leftOut(): Readonly<Record<string, number>> | null;
}

/** `most` lines in `perMs`; `mostSorts`: further ones are counted together. */
export function createLineLimit(
  most: number,
  perMs: number,
  now: () => number = () => performance.now(),
  mostSorts = 20,
): LineLimit {
  let beganAt = -Infinity;
  let taken = 0;
  let left = new Map<string, number>();

  function leaveOut(sort: string): void {
    const name = left.has(sort) || left.size < mostSorts ? sort : 'others';
    left.set(name, (left.get(name) ?? 0) + 1);
  }

  return {
    take(sort) {
      if (now() - beganAt >= perMs) {
        beganAt = now();
        taken = 0;
      }
      taken += 1;
      if (taken <= most) return true;
      leaveOut(sort);
      return false;
    },
    leftOut() {
      if (left.size === 0) return null;
      const counts = Object.fromEntries(left);
      left = new Map();
      return counts;
    },
  };
}
