/** Percentiles of the benchmark.
 *  It must not measure anything. */
import { expect, test } from 'vitest';
import { summarizeLatencies } from '../../../bench/latency.ts';

test('percentiles are latencies that occurred, whatever their order', () => {
  const latenciesMs = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(summarizeLatencies(latenciesMs)).toEqual({ p50Ms: 50, p99Ms: 99 });
});

test('a single latency is every percentile', () => {
  expect(summarizeLatencies([7])).toEqual({ p50Ms: 7, p99Ms: 7 });
});
