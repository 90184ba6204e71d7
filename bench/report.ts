/** The measurements as a table, with their ratios to the baseline of the same load.
 *  It must not leave out a row that looks bad. */
import { table } from '../src/cli/table.ts';
import type { CommandCount } from './command-count.ts';
import { type LastRow, lastOf, rowOf } from './last-run.ts';
import type { Cost, Measurement } from './measurement.ts';

const COLUMNS = [
  '',
  'in flight',
  'ops/s',
  'p50 ms',
  'p99 ms',
  'rate',
  'p50',
  'KB in memory',
  'KB of AOF',
  'CPU µs',
  'of it (% of a core)',
] as const;

/** Of each scenario and load the run with the median rate: one noisy localWorker decides nothing. */
export function medians(measurements: readonly Measurement[]): Measurement[] {
  const runs = Map.groupBy(measurements, ({ scenario, concurrency }) => `${scenario} ${concurrency}`);
  return [...runs.values()].map(medianOf);
}

/** The round with the median rate; of an even number the slower one of the middle. `rounds` must not be empty. */
export function medianOf<R extends { readonly perSecond: number }>(rounds: readonly R[]): R {
  return middle(rounds, ({ perSecond }) => perSecond);
}

/** The median by any figure; of an even number the lower one of the middle. `rounds` must not be empty. */
export function middle<R>(rounds: readonly R[], figureOf: (round: R) => number): R {
  const sorted = rounds.toSorted((one, other) => figureOf(one) - figureOf(other));
  return sorted[Math.floor((sorted.length - 1) / 2)] as R;
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

/** `last`: the rows of the last committed run; a figure that has one shows it in brackets. */
export function report(
  fsync: string,
  measurements: readonly Measurement[],
  last: readonly LastRow[] = [],
): string {
  const rows = rowsOf(fsync, measurements).map((row, index) =>
    cells(measurements[index] as Measurement, row, lastOf(row, last)),
  );
  const notes = measurements.flatMap(({ scenario, concurrency, note }) =>
    note === undefined ? [] : [`${scenario}, ${concurrency} in flight: ${note}`],
  );
  return `\nRedis with AOF ${fsync}\n${[...table([COLUMNS, ...rows]), ...notes].join('\n')}`;
}

/** What a run keeps of its measurements. */
export function rowsOf(fsync: string, measurements: readonly Measurement[]): LastRow[] {
  return measurements.map((measurement) => rowOf(fsync, measurement, baselineOf(measurement, measurements)));
}

function baselineOf(of: Measurement, all: readonly Measurement[]): Measurement | null {
  return all.find((other) => other.scenario === of.baseline && other.concurrency === of.concurrency) ?? null;
}

function cells(measurement: Measurement, row: LastRow, last: LastRow | null): string[] {
  return [
    measurement.scenario,
    String(measurement.concurrency),
    measurement.perSecond.toFixed(0),
    measurement.p50Ms.toFixed(2),
    measurement.p99Ms.toFixed(2),
    figure(row.rate, last?.rate, times),
    figure(row.p50, last?.p50, times),
    figure(row.memory_bytes, last?.memory_bytes, kilobytes),
    figure(row.file_bytes, last?.file_bytes, kilobytes),
    figure(row.cpu_us, last?.cpu_us, String),
    measurement.costs.map(cost).join(', '),
  ];
}

/** The last figure in brackets. */
function figure(
  value: number | null,
  last: number | null | undefined,
  form: (value: number) => string,
): string {
  if (value === null) return '–';
  return last === null || last === undefined ? form(value) : `${form(value)} (${form(last)})`;
}

const times = (value: number): string => `${value.toFixed(2)}×`;
const kilobytes = (bytes: number): string => (bytes / 1_024).toFixed(1);

export function cost({ name, corePercent, perOperationUs }: Cost): string {
  return `${name} ${perOperationUs.toFixed(0)} (${corePercent.toFixed(0)} %)`;
}
