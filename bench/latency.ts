/** Latencies of one load, summed up.
 *  It must not average: a mean hides what a percentile shows. */
export interface LatencySummary {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Nearest-rank percentiles of `latenciesMs`, which must not be empty. */
export function summarizeLatencies(latenciesMs: readonly number[]): LatencySummary {
  const sorted = Float64Array.from(latenciesMs).toSorted();
  return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) };
}

function percentile(sorted: Float64Array, share: number): number {
  const rank = Math.max(1, Math.ceil(sorted.length * share));
  return sorted[rank - 1] ?? Number.NaN;
}

/** The time from the start of each operation to its first text. */
export function firstTexts() {
  let latenciesMs: number[] = [];
  return {
    /** Returns what each text of the operation calls. */
    begin(): () => void {
      const startedAt = performance.now();
      let isFirst = true;
      return () => {
        if (isFirst) latenciesMs.push(performance.now() - startedAt);
        isFirst = false;
      };
    },
    /** One sentence about the operations since the last note; empty where none had text. */
    note(): string {
      if (latenciesMs.length === 0) return '';
      const { p50Ms } = summarizeLatencies(latenciesMs);
      latenciesMs = [];
      return `first text after ${p50Ms.toFixed(1)} ms, p50`;
    },
  };
}
