/** A closed loop: `concurrency` callers, each starting the next operation when its last one ended.
 *  It must count an operation that fails as a failure of the whole run. */
import { type LatencySummary, summarizeLatencies } from './latency.ts';

export type Operation = (index: number) => Promise<void>;

export interface LoadResult extends LatencySummary {
  readonly count: number;
  readonly elapsedMs: number;
  readonly perSecond: number;
  /** What else the load showed. */
  readonly note?: string;
}

export async function runLoad(operation: Operation, count: number, concurrency: number): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  let next = 0;
  const call = async (): Promise<void> => {
    while (next < count) {
      const startedAt = performance.now();
      await operation(next++);
      latenciesMs.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, call));
  const elapsedMs = performance.now() - startedAt;
  return { count, elapsedMs, perSecond: (count / elapsedMs) * 1000, ...summarizeLatencies(latenciesMs) };
}
