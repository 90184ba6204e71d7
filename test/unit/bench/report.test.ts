/** The report of the benchmark.
 *  It must not measure anything. */
import { expect, test } from 'vitest';
import { rowsIn } from '../../../bench/against.ts';
import type { Measurement } from '../../../bench/measurement.ts';
import { disturbed } from '../../../bench/busy-machine.ts';
import { commandReport, medians, report, rowsOf } from '../../../bench/report.ts';
import { BASELINE } from '../../../bench/scenarios.ts';

function measured(scenario: string, perSecond: number, concurrency = 100): Measurement {
  const figures = {
    count: 1,
    elapsedMs: 1,
    perSecond,
    p50Ms: 2,
    p99Ms: 4,
    memoryBytes: 2_048,
    fileBytes: 512,
    costs: [],
  };
  return { scenario, baseline: BASELINE, concurrency, ...figures };
}

test('of several rounds, the one with the median rate stands for the scenario and load', () => {
  const rounds = [90, 30, 60].map((rate) => measured('a', rate));
  const others = [measured('a', 5, 1), measured('b', 8)];
  expect(medians([...rounds, ...others]).map(({ perSecond }) => perSecond)).toEqual([60, 5, 8]);
});

test('a ratio compares with the baseline of the same load', () => {
  const lines = report('everysec', [
    measured(BASELINE, 200),
    measured(BASELINE, 10, 1),
    measured('a', 100),
  ]).split('\n');
  expect(lines[1]).toBe('Redis with AOF everysec');
  expect(lines.at(-1)).toMatch(/^a +100 +100 .* 0\.50× +1\.00×/);
});

test('a figure of the last run stands in brackets, and a row that it did not have stands alone', () => {
  const rows = [measured(BASELINE, 200), measured('a', 100)];
  const last = rowsOf('everysec', [measured(BASELINE, 100), measured('a', 80)]);
  const [, , , baseline, own] = report('everysec', rows, last).split('\n');
  expect(baseline).toMatch(/1\.00× \(1\.00×\) +1\.00× \(1\.00×\) +2\.0 \(2\.0\) +0\.5 \(0\.5\)/);
  expect(own).toMatch(/0\.50× \(0\.80×\) +1\.00× \(1\.00×\)/);
  expect(report('always', rows, last)).not.toContain('(0.80×)');
});

test('a comparison of two commits reads the table that a run prints', () => {
  const text = report('everysec', [measured('a, warm', 100, 1), { ...measured('b', 40), note: 'a note' }]);
  expect(rowsIn(`before\n${text}\n0.3 minutes`)).toEqual(
    new Map([
      ['a, warm, 1 in flight', { rate: 100, p50Ms: 2, cpuUs: 0 }],
      ['b, 100 in flight', { rate: 40, p50Ms: 2, cpuUs: 0 }],
    ]),
  );
});

test('a row beside which others worked is named', () => {
  const costs = (corePercent: number) => [{ name: 'others', corePercent, perOperationUs: 1 }];
  const rows = [
    { ...measured('quiet', 100), costs: costs(20) },
    { ...measured('beside', 100), costs: costs(30) },
  ];
  expect(disturbed(rows)).toEqual(['beside, 100 in flight: other processes used 30 % of a core']);
});

test('a note of a scenario follows the table', () => {
  const text = report('everysec', [{ ...measured('a', 100), note: 'half of it is waiting' }]);
  expect(text.split('\n').at(-1)).toBe('a, 100 in flight: half of it is waiting');
});

test('commands that do not belong to the operation are left out', () => {
  const counts = [
    { command: 'evalsha', count: 200 },
    { command: 'info', count: 3 },
  ];
  expect(commandReport('a', counts, 100)).toMatch(/2\.00 +evalsha$/);
});
