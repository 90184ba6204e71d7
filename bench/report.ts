/** The measurements as a table, with their ratios to the baseline of the same load.
 *  It must not leave out a row that looks bad. */
import { table } from '../src/cli/table.ts';
import type { CommandCount } from './command-count.ts';
import type { Cost, Measurement } from './measurement.ts';

const COLUMNS = [
  '',
  'in flight',
  'ops/s',
  'p50 ms',
  'p99 ms',
  'rate',
  'p50',
  'CPU: % of a core (µs per op)',
] as const;

/** Of each scenario and load the run with the median rate: one noisy localWorker decides nothing. */
export function medians(measurements: readonly Measurement[]): Measurement[] {
  const runs = Map.groupBy(measurements, ({ scenario, concurrency }) => `${scenario} ${concurrency}`);
  return [...runs.values()].flatMap((same) => {
    const sorted = same.toSorted((one, other) => one.perSecond - other.perSecond);
    return sorted[Math.floor((sorted.length - 1) / 2)] ?? [];
  });
}

/** What one operation costs in commands; what is sent less than once in ten operations is not its own. */
export function commandReport(
  scenario: string,
  commands: readonly CommandCount[],
  operations: number,
): string {
  const own = commands.filter(({ count }) => count * 10 >= operations);
  const rows = own.map(({ command, count }) => [`  ${(count / operations).toFixed(2)}`, command]);
  return `\n${scenario}: commands that an operation sends to Redis, one at a time\n${table(rows).join('\n')}`;
}

export function report(title: string, measurements: readonly Measurement[]): string {
  const rows = measurements.map((measurement) => row(measurement, baselineOf(measurement, measurements)));
  const notes = measurements.flatMap(({ scenario, concurrency, note }) =>
    note === undefined ? [] : [`${scenario}, ${concurrency} in flight: ${note}`],
  );
  return `\n${title}\n${[...table([COLUMNS, ...rows]), ...notes].join('\n')}`;
}

function baselineOf(of: Measurement, all: readonly Measurement[]): Measurement | null {
  return all.find((other) => other.scenario === of.baseline && other.concurrency === of.concurrency) ?? null;
}

function row(measurement: Measurement, baseline: Measurement | null): string[] {
  return [
    measurement.scenario,
    String(measurement.concurrency),
    measurement.perSecond.toFixed(0),
    measurement.p50Ms.toFixed(2),
    measurement.p99Ms.toFixed(2),
    baseline === null ? '–' : ratio(measurement.perSecond, baseline.perSecond),
    baseline === null ? '–' : ratio(measurement.p50Ms, baseline.p50Ms),
    measurement.costs.map(cost).join(', '),
  ];
}

function ratio(value: number, of: number): string {
  return `${(value / of).toFixed(2)}×`;
}

export function cost({ name, corePercent, perOperationUs }: Cost): string {
  return `${name} ${corePercent.toFixed(0)} % (${perOperationUs.toFixed(0)})`;
}
