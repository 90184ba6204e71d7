/** `npm run bench -- --only batches`: the same directives one by one, a hundred callers at once, and in batches of 1,000.
 *  It must not execute anything: no worker runs, so that only the way in is measured. */
import { table } from '../src/cli/table.ts';
import type { SubmittedDirective } from '../src/contract/directive/directive.ts';
import type { DirectiveClient } from '../src/contract/directive/directive-client.ts';
import { createDirectClient } from '../src/service/direct-client.ts';
import type { TestRedis } from '../test/support/redis.ts';
import { runLoad } from './load.ts';
import { medianOf } from './report.ts';
import type { Section } from './sections.ts';
import { processorTimeMs } from './processor-time.ts';

export interface BatchPlan {
  /** Directives of each row and round. */
  readonly directives: number;
  readonly rounds: number;
}

interface Case {
  /** Directives of a submission. */
  readonly size: number;
  /** Submissions under way at once. */
  readonly callers: number;
}

interface Row extends Case {
  readonly perSecond: number;
  /** Microseconds of processor time for each directive. */
  readonly redisUs: number;
  readonly clientUs: number;
}

/** A caller that awaits each answer: what a batch saves it. The goal is 3 × as fast. */
const ONE_BY_ONE: Case = { size: 1, callers: 1 };
/** The same work without waiting: what a batch saves the service. */
const AT_ONCE: Case = { size: 1, callers: 100 };
const CASES: readonly Case[] = [
  ONE_BY_ONE,
  AT_ONCE,
  { size: 1_000, callers: 1 },
  { size: 1_000, callers: 4 },
];
const DIRECTIVE: SubmittedDirective = { type: 'tool_exec', tool_name: 'noop.noop' };

export async function benchBatches(redis: TestRedis, { directives, rounds }: BatchPlan): Promise<Section> {
  const client = await createDirectClient({ redisUrl: redis.url, knownServers: ['noop'], maxQueued: null });
  try {
    const rows: Row[] = [];
    // Brings code and connections up to temperature.
    for (const each of CASES) await submitted(redis, client, each, 1_000);
    for (let round = 1; round <= rounds; round += 1)
      for (const each of CASES) rows.push(await submitted(redis, client, each, directives));
    const medians = CASES.map((each) => medianOf(rows.filter((row) => isOf(each, row))));
    const [alone, , batch] = medians.map(({ perSecond }) => perSecond);
    return { text: report(medians), figures: { batches: (batch ?? Number.NaN) / (alone ?? Number.NaN) } };
  } finally {
    await client.close();
  }
}

async function submitted(
  redis: TestRedis,
  client: DirectiveClient,
  { size, callers }: Case,
  directives: number,
): Promise<Row> {
  const batch = Array.from({ length: size }, () => DIRECTIVE);
  const operation = async (): Promise<void> => void (await client.submit(size === 1 ? DIRECTIVE : batch));
  const before = [redis.pid, process.pid].map(processorTimeMs);
  const load = await runLoad(operation, Math.ceil(directives / size), callers);
  const [redisUs = 0, clientUs = 0] = [redis.pid, process.pid].map(
    (pid, index) => ((processorTimeMs(pid) - (before[index] ?? 0)) / directives) * 1_000,
  );
  return { size, callers, perSecond: load.perSecond * size, redisUs, clientUs };
}

function isOf({ size, callers }: Case, row: Row): boolean {
  return row.size === size && row.callers === callers;
}

function ratioTo(baseline: Case, rows: readonly Row[], perSecond: number): string {
  const { perSecond: compared = perSecond } = rows.find((row) => isOf(baseline, row)) ?? {};
  return `${(perSecond / compared).toFixed(2)}×`;
}

const COLUMNS = [
  'directives of a submission',
  'at once',
  'directives/s',
  'of one by one',
  'of 100 at once',
  'CPU µs of each: redis',
  'client',
] as const;

function report(rows: readonly Row[]): string {
  const cells = rows.map(({ size, callers, perSecond, redisUs, clientUs }) => [
    String(size),
    String(callers),
    perSecond.toFixed(0),
    ...[ONE_BY_ONE, AT_ONCE].map((baseline) => ratioTo(baseline, rows, perSecond)),
    redisUs.toFixed(0),
    clientUs.toFixed(0),
  ]);
  return `\nSubmissions without execution\n${table([COLUMNS, ...cells]).join('\n')}`;
}
