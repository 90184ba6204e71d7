/** `npm run bench -- --only shards`: no-ops over a Redis Cluster of one master and of three: how much of an operation each master bears.
 *  It must judge by processor time: on a machine with few cores three masters are not faster than one. */
import { table } from '../src/cli/table.ts';
import { startCluster } from '../test/support/redis-cluster.ts';
import { type Cost, measure } from './measurement.ts';
import { startNoopLanes } from './scenarios.ts';
import { middle } from './report.ts';
import type { Section } from './sections.ts';

export interface ShardPlan {
  readonly fsync: 'always' | 'everysec';
  readonly operations: number;
  readonly rounds: number;
}

interface Row {
  readonly masters: number;
  /** Of each master, microseconds of processor time an operation. */
  readonly redisUs: readonly number[];
  readonly others: readonly Cost[];
}

const MASTERS = [1, 3] as const;
/** For each master: with fewer at once each answers fewer in one go, which costs it more. */
const IN_FLIGHT = 100;

/** Its figure: how many times as much three masters carry as one, when the busiest of them is busy all the time. */
export async function benchShards(plan: ShardPlan): Promise<Section> {
  const rows: Row[] = [];
  for (let round = 1; round <= plan.rounds; round += 1)
    for (const masters of MASTERS) rows.push(await measured(masters, plan));
  const medians = MASTERS.map((masters) =>
    middle(
      rows.filter((row) => row.masters === masters),
      busiest,
    ),
  );
  const [one, three] = medians.map(busiest);
  return { text: report(medians), figures: { shards: (one ?? Number.NaN) / (three ?? Number.NaN) } };
}

async function measured(masters: number, { fsync, operations: count }: ShardPlan): Promise<Row> {
  await using cluster = await startCluster({ masters, appendonly: true, appendfsync: fsync });
  const stage = await startNoopLanes(cluster);
  try {
    const loads = [{ count, concurrency: IN_FLIGHT * masters }];
    const { measurements } = await measure('noop-lanes', stage, { loads, counted: null });
    const costs = measurements[0]?.costs ?? [];
    const isRedis = ({ name }: Cost): boolean => name.startsWith('redis');
    const redisUs = costs.filter(isRedis).map(({ perOperationUs }) => perOperationUs);
    return { masters, redisUs, others: costs.filter((cost) => !isRedis(cost)) };
  } finally {
    await stage.stop();
  }
}

const busiest = ({ redisUs }: Row): number => Math.max(...redisUs);

const COLUMNS = ['masters', 'Redis µs of an operation, by master', 'the busiest', 'the others µs'] as const;

function report(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    String(row.masters),
    row.redisUs.map((us) => us.toFixed(0)).join(' + '),
    busiest(row).toFixed(0),
    row.others.map(({ name, perOperationUs }) => `${name} ${perOperationUs.toFixed(0)}`).join(', '),
  ]);
  return `\nNo-ops in twelve lanes of a cluster, ${IN_FLIGHT} in flight for each master\n${table([COLUMNS, ...cells]).join('\n')}`;
}
