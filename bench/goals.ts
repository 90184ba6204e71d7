/** The goals of speed, each beside the figure that was measured: ratios of one run, and processor time of an operation.
 *  It must hold no figure of a machine: what is compared comes from the same run. */
import { table } from '../src/cli/table.ts';
import type { LastRow } from './last-run.ts';
import type { Measurement } from './measurement.ts';

/** What a run has measured, by name. */
export type Figures = Readonly<Record<string, number>>;

interface Goal {
  /** What is measured, as the table says it. */
  readonly row: string;
  /** Its figure; null: it was not measured. */
  of(figures: Figures): number | null;
  readonly least?: number;
  readonly most?: number;
  readonly unit: string;
}

const named =
  (name: string) =>
  (figures: Figures): number | null =>
    figures[name] ?? null;

/** null: one of both was not measured. */
const divided =
  (one: string, other: string) =>
  (figures: Figures): number | null => {
    const [part, whole] = [figures[one], figures[other]];
    return part === undefined || whole === undefined ? null : part / whole;
  };

const rate = (fsync: string, scenario: string): string => `${fsync} / ${scenario} / 100 / rate`;
const alone = (fsync: string, scenario: string): string => `${fsync} / ${scenario} / 1 / p50`;
const ms = (fsync: string, scenario: string): string => `${fsync} / ${scenario} / 1 / p50_ms`;

/** The difference of two figures; null: one of them was not measured. */
const more =
  (one: string, other: string) =>
  (figures: Figures): number | null => {
    const [high, low] = [figures[one], figures[other]];
    return high === undefined || low === undefined ? null : high - low;
  };

/** Megabytes of a role without servers or models. */
export const REST_MB = { up: 170, worker: 140, api: 120, engine: 100 } as const;
export const MOST_START_MS = 1_200;

/** Measured by `--only peers`: the last run has them, the whole table does not install a peer. */
const PEER_GOALS: readonly Goal[] = [
  { row: "no-op over HTTP: Restate's rate", of: named(rate('always', 'no-op, HTTP')), least: 5, unit: '×' },
  { row: 'the same, one at a time: p50', of: named(alone('always', 'no-op, HTTP')), most: 1 / 6, unit: '×' },
  {
    row: "run of three no-ops over HTTP: Restate's rate",
    of: named(rate('always', 'run of no-ops, HTTP')),
    least: 1.5,
    unit: '×',
  },
  {
    row: 'the same, one at a time: p50',
    of: named(alone('always', 'run of no-ops, HTTP')),
    most: 1 / 3,
    unit: '×',
  },
];

const GOALS: readonly Goal[] = [
  {
    row: 'tools, 100 in flight, everysec: rate of BullMQ',
    of: named(rate('everysec', 'no-op, direct')),
    least: 1.2,
    unit: '×',
  },
  { row: 'the same, always', of: named(rate('always', 'no-op, direct')), least: 1.2, unit: '×' },
  {
    row: 'the same, one process, everysec',
    of: named(rate('everysec', 'no-op, direct, one process')),
    least: 1,
    unit: '×',
  },
  {
    row: 'tools, one at a time, everysec: p50 of BullMQ',
    of: named(alone('everysec', 'no-op, direct')),
    most: 1,
    unit: '×',
  },
  { row: 'the same, always', of: named(alone('always', 'no-op, direct')), most: 1, unit: '×' },
  {
    row: 'the same, one process, everysec',
    of: named(alone('everysec', 'no-op, direct, one process')),
    most: 1.2,
    unit: '×',
  },
  ...PEER_GOALS,
  {
    row: 'runs, roles apart: rate of chained jobs',
    of: named(rate('everysec', 'run of no-ops, roles apart')),
    least: 0.75,
    unit: '×',
  },
  {
    row: 'the same, one at a time: p50',
    of: named(alone('everysec', 'run of no-ops, roles apart')),
    most: 2.5,
    unit: '×',
  },
  {
    row: 'MCP call over stdio, direct: p50 above the bare call',
    of: more(ms('everysec', 'directive, direct'), ms('everysec', 'MCP call alone')),
    most: 1.5,
    unit: ' ms',
  },
  {
    row: 'the same over HTTP',
    of: more(ms('everysec', 'directive, direct, MCP over HTTP'), ms('everysec', 'MCP call over HTTP alone')),
    most: 1.5,
    unit: ' ms',
  },
  {
    row: 'streaming agent of five turns, roles apart: p50 above the bare loop',
    of: named('agent_adds_ms'),
    most: 40,
    unit: ' ms',
  },
  { row: 'the same, one process', of: named('agent_up_adds_ms'), most: 40, unit: ' ms' },
  {
    row: 'HTTP, 100 in flight: rate of direct',
    of: divided(rate('everysec', 'directive, HTTP'), rate('everysec', 'directive, direct')),
    least: 0.75,
    unit: '×',
  },
  {
    row: 'HTTP, 100 in flight: CPU of the API',
    of: named('everysec / directive, HTTP / 100 / api_us'),
    most: 280,
    unit: ' µs',
  },
  {
    row: 'HTTP, one at a time: p50 above direct',
    of: more(ms('everysec', 'directive, HTTP'), ms('everysec', 'directive, direct')),
    most: 0.7,
    unit: ' ms',
  },
  {
    row: 'slots, tools of 50 ms, 1 worker: each slot loses',
    of: named('slot_loses_ms'),
    most: 2,
    unit: ' ms',
  },
  { row: 'slots, 4 workers: of the ideal', of: named('four_workers'), least: 0.9, unit: '×' },
  { row: 'submissions in batches of 1,000: rate of one by one', of: named('batches'), least: 3, unit: '×' },
  { row: 'streams, 10 at once: the first piece, p50', of: named('first_piece_10_ms'), most: 2, unit: ' ms' },
  { row: 'streams, 200 at once: a piece, p50', of: named('piece_200_ms'), most: 5, unit: ' ms' },
  { row: 'the same: CPU of a piece', of: named('piece_200_us'), most: 100, unit: ' µs' },
  {
    row: 'memory of a no-op until retention',
    of: named('everysec / no-op, direct / 100 / memory_kb'),
    most: 2.5,
    unit: ' KB',
  },
  {
    row: 'append-only file of a no-op',
    of: named('everysec / no-op, direct / 100 / file_kb'),
    most: 3.5,
    unit: ' KB',
  },
  { row: 'from the fewest directives to the most: CPU', of: named('depth'), most: 1.1, unit: '×' },
  { row: 'from one master of Redis to three: what they carry', of: named('shards'), least: 2.55, unit: '×' },
  ...Object.entries(REST_MB).flatMap(([role, most]): Goal[] => [
    { row: `${role} at rest`, of: named(`${role}_mb`), most, unit: ' MB' },
    { row: `${role}, start until ready`, of: named(`${role}_ready_ms`), most: MOST_START_MS, unit: ' ms' },
  ]),
];

/** Of the rows of one setting of Redis, each with its measurement. */
export function figuresOf(
  rows: readonly LastRow[],
  measurements: readonly Measurement[],
): Record<string, number> {
  const all = rows.map((row, index) => figuresOfRow(row, measurements[index]));
  return Object.assign({}, ...all) as Record<string, number>;
}

function figuresOfRow(row: LastRow, measurement: Measurement | undefined): Record<string, number> {
  const name = `${row.fsync} / ${row.scenario} / ${row.in_flight}`;
  const apiUs = measurement?.costs.find((cost) => cost.name === 'api')?.perOperationUs;
  return {
    ...(row.rate === null ? {} : { [`${name} / rate`]: row.rate }),
    ...(row.p50 === null ? {} : { [`${name} / p50`]: row.p50 }),
    ...(measurement === undefined ? {} : { [`${name} / p50_ms`]: measurement.p50Ms }),
    [`${name} / memory_kb`]: row.memory_bytes / 1_024,
    [`${name} / file_kb`]: row.file_bytes / 1_024,
    ...(apiUs === undefined ? {} : { [`${name} / api_us`]: apiUs }),
  };
}

/** Every goal has its row, also those that this run did not measure. `last`: of the last committed run. */
export function goalTable(figures: Figures, last: Figures): string {
  const cells = GOALS.map((goal) => {
    const value = goal.of(figures);
    return [goal.row, shown(goal, value), shown(goal, goal.of(last)), boundOf(goal), verdict(goal, value)];
  });
  return `\nThe goals\n${table([['', 'now', 'last run', 'goal', ''], ...cells]).join('\n')}`;
}

function shown({ unit }: Goal, value: number | null): string {
  if (value === null || Number.isNaN(value)) return '–';
  return `${value.toFixed(unit === ' µs' ? 0 : 2)}${unit}`;
}

function boundOf({ least, most, unit }: Goal): string {
  return least === undefined ? `≤ ${Number(most?.toFixed(2))}${unit}` : `≥ ${least}${unit}`;
}

function verdict({ least = -Infinity, most = Infinity }: Goal, value: number | null): string {
  if (value === null || Number.isNaN(value)) return 'not measured';
  return value >= least && value <= most ? 'reached' : '';
}
