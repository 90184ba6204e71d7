/** `npm run bench -- --only workers`: one, two and four worker processes on one lane, with a tool that takes its time, beside the ideal.
 *  It must not take the calls that end late for the ideal: every operation counts, the last ones too. */
import { table } from '../src/cli/table.ts';
import type { TestRedis } from '../test/support/redis.ts';
import type { Cost, Measured, Stage } from './measurement.ts';
import { cost, medianOf } from './report.ts';
import { runScenario, startWorkers } from './scenarios.ts';
import type { Section } from './sections.ts';

export interface WorkersPlan {
  /** Calls in all of each number of workers. */
  readonly operations: number;
  /** Each number of workers so often, in turns; the report shows the round with the median rate. */
  readonly rounds: number;
}

type Row = Measured['measurements'][number] & { readonly workers: number };

const WORKERS = [1, 2, 4] as const;
/** Of each worker. */
const SLOTS = 10;
const TOOL_MS = 50;
/** More than four workers have slots, so that none of them waits for the client. */
const IN_FLIGHT = 100;

export async function benchWorkers(redis: TestRedis, plan: WorkersPlan): Promise<Section> {
  const rows: Row[] = [];
  for (let round = 1; round <= plan.rounds; round += 1)
    for (const workers of WORKERS) rows.push(await measured(redis, workers, plan.operations));
  const title = `Tools of ${TOOL_MS} ms, ${SLOTS} slots a worker, ${IN_FLIGHT} in flight`;
  const medians = WORKERS.map((workers) => medianOf(rows.filter((row) => row.workers === workers)));
  const [one, , four] = medians.map(ofIdeal);
  const figures = {
    slot_loses_ms: TOOL_MS / (one ?? Number.NaN) - TOOL_MS,
    four_workers: four ?? Number.NaN,
  };
  return { text: `\n${title}\n${table([COLUMNS, ...medians.map(cells)]).join('\n')}`, figures };
}

async function measured(redis: TestRedis, workers: number, operations: number): Promise<Row> {
  const start = async (): Promise<Stage> => startWorkers(redis, workers, SLOTS, TOOL_MS);
  const loads = [{ count: operations, concurrency: IN_FLIGHT }];
  const plan = { loads, counted: null };
  const { measurements } = await runScenario({ start, transport: 'direct' }, redis, SLOTS, plan);
  return { workers, ...(measurements[0] as Measured['measurements'][number]) };
}

const COLUMNS = [
  'workers',
  'directives/s',
  'ideal',
  'of it',
  'a slot loses ms',
  'p50 ms',
  'p99 ms',
  'CPU: % of a core (µs per op)',
] as const;

const idealOf = (workers: number): number => (workers * SLOTS * 1_000) / TOOL_MS;
const ofIdeal = ({ workers, perSecond }: Row): number => perSecond / idealOf(workers);

function cells(row: Row): string[] {
  const { workers, perSecond, p50Ms, p99Ms, costs } = row;
  return [
    String(workers),
    perSecond.toFixed(0),
    idealOf(workers).toFixed(0),
    `${(ofIdeal(row) * 100).toFixed(0)} %`,
    (TOOL_MS / ofIdeal(row) - TOOL_MS).toFixed(1),
    p50Ms.toFixed(0),
    p99Ms.toFixed(0),
    sumByRole(costs).map(cost).join(', '),
  ];
}

/** `worker 1`, `worker 2` → one `worker`; their MCP servers likewise. */
function sumByRole(costs: readonly Cost[]): Cost[] {
  const roles = Map.groupBy(costs, ({ name }) => name.replace(/ \d+/, ''));
  return [...roles].map(([name, same]) => ({
    name,
    corePercent: same.reduce((sum, { corePercent }) => sum + corePercent, 0),
    perOperationUs: same.reduce((sum, { perOperationUs }) => sum + perOperationUs, 0),
  }));
}
