/** Repeatable randomness: every choice of a run follows from its seed.
 *  It must never use the clock or the system for randomness. */

export interface Chance {
  /** From 0 up to, and not including, 1. */
  next(): number;
  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number;
  /** True in this many of a hundred cases. */
  percent(percent: number): boolean;
  pick<T>(values: readonly T[]): T;
  /** One of the names, with its weight as probability. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K;
}

/** mulberry32 over a hash (FNV-1a) of the seed. */
export function chanceOf(seed: string): Chance {
  let state = 2_166_136_261;
  for (const character of seed) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619);
  const next = (): number => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    between,
    percent: (percent) => next() * 100 < percent,
    pick: <T>(values: readonly T[]): T => {
      const picked = values[between(0, values.length - 1)];
      if (picked === undefined) throw new Error('There is nothing to pick from.');
      return picked;
    },
    weighted: (weights) => weighted(weights, next()),
  };
}

function weighted<K extends string>(weights: Readonly<Record<K, number>>, drawn: number): K {
  const entries = Object.entries(weights) as [K, number][];
  let left = drawn * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of entries) {
    left -= weight;
    if (left < 0) return name;
  }
  throw new Error('There is nothing to pick from.');
}
