// Values that are read at a collection: each role adds its own sources. Never fails a collection, nor holds it for
// longer than a source may take.
import { settledWithin } from '../../lifecycle.ts';
import type { MetricName } from './metric-names.ts';

/** One value of a gauge. */
export interface Reading {
  readonly metric: MetricName;
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** May reject or be late: then its values are missing. */
export type GaugeSource = () => readonly Reading[] | Promise<readonly Reading[]>;

/** Longer than the check of Redis, and far shorter than a scrape may take (10 s by default). */
const LONGEST_READ_MS = 1_500;

export async function readAll(
  sources: readonly GaugeSource[],
  longestMs: number = LONGEST_READ_MS,
): Promise<Reading[]> {
  const found: Reading[] = [];
  const read = async (source: GaugeSource): Promise<void> => void found.push(...(await source()));
  await settledWithin(Promise.allSettled(sources.map(read)), longestMs);
  return [...found];
}

/** The last answer, for `freshMs`; who asks while one is under way gets that one. */
export function remembered(
  source: () => Promise<readonly Reading[]>,
  freshMs: number,
  now: () => number = () => performance.now(),
): () => Promise<readonly Reading[]> {
  let answer: Promise<readonly Reading[]> = Promise.resolve([]);
  let freshUntil = -Infinity;
  return () => {
    if (now() < freshUntil) return answer;
    freshUntil = Infinity;
    answer = source().finally(() => (freshUntil = now() + freshMs));
    return answer;
  };
}
