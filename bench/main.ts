/** `npm run bench`: no-op directives against plain BullMQ and bare MCP calls, on the same Redis in the same run.
 *  It must not run two loads at once. */
import { parseArgs } from 'node:util';
import { startRedis, type TestRedis } from '../test/support/redis.ts';
import type { LoadRequest } from './client-process.ts';
import { type Measurement, measure } from './measurement.ts';
import { report } from './report.ts';
import { type Scenario, SCENARIOS } from './scenarios.ts';

const USAGE = `npm run bench -- [--n 5000] [--single 500] [--only bullmq,direct,http,mcp] [--fsync everysec,always] [--slots 50]
  --n       operations with 100 in flight
  --single  operations one at a time
  --only    these scenarios; ratios need 'bullmq' among them
  --fsync   Redis' appendfsync; one run each
  --slots   operations that a worker runs at once; 50, because plain BullMQ slows down with more slots than jobs`;

const { values } = parseArgs({
  options: {
    n: { type: 'string', default: '5000' },
    single: { type: 'string', default: '500' },
    only: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
    fsync: { type: 'string', default: 'everysec,always' },
    slots: { type: 'string', default: '50' },
    help: { type: 'boolean', default: false },
  },
});

const loads: readonly LoadRequest[] = [
  { count: Number(values.n), concurrency: 100 },
  { count: Number(values.single), concurrency: 1 },
];

if (values.help) console.log(USAGE);
else for (const fsync of values.fsync.split(',')) await run(fsync === 'always' ? 'always' : 'everysec');

async function run(fsync: 'always' | 'everysec'): Promise<void> {
  await using redis = await startRedis({ appendonly: true, appendfsync: fsync });
  const measurements: Measurement[] = [];
  for (const name of values.only.split(',')) {
    const scenario = SCENARIOS[name];
    if (scenario === undefined) throw new Error(`'${name}' is no scenario.\n${USAGE}`);
    console.log(`… ${scenario.name}, AOF ${fsync}`);
    measurements.push(...(await runScenario(scenario, redis)));
  }
  console.log(report(`Redis with AOF ${fsync}`, measurements));
}

async function runScenario(scenario: Scenario, redis: TestRedis): Promise<Measurement[]> {
  const stage = await scenario.start(redis, Number(values.slots));
  try {
    const measurements = await measure(scenario.transport, stage, loads);
    return measurements.map((measurement) => ({ ...measurement, scenario: scenario.name }));
  } finally {
    await stage.stop();
  }
}
