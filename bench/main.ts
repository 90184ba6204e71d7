/** `npm run bench`: no-op directives against plain BullMQ and bare MCP calls, and streams against their provider.
 *  It must not run two loads at once. */
import { parseArgs } from 'node:util';
import { startRedis, type TestRedis } from '../test/support/redis.ts';
import { benchBatches } from './batches.ts';
import { disturbed, busyMachine } from './busy-machine.ts';
import type { LoadRequest } from './client-process.ts';
import { type Measured, type Measurement, measure, type Plan } from './measurement.ts';
import { lastRows, saveRows } from './last-run.ts';
import { commandReport, medians, report, rowsOf } from './report.ts';
import { HOST_SCENARIOS, type Scenario, SCENARIOS, TRACE_SCENARIOS } from './scenarios.ts';
import { benchStreams } from './streams.ts';
import { benchTakeovers } from './takeover.ts';
import { benchWorkers } from './workers.ts';

const USAGE = `npm run bench -- [options]
  --n 5000                      operations with 100 in flight
  --single 500                  operations one at a time
  --only bullmq,noop,direct,http,up,mcp,chain,steps,apart,run  these scenarios; ratios need 'bullmq' among them, those of runs 'chain'
  --only traces                 directives over HTTP without traces, with one in a hundred, with all
  --only hosts                  calls of an MCP host to the MCP server itself, through /mcp and through adjutant mcp
  --only workers                1, 2 and 4 worker processes with tools of 50 ms, 10 at a time each, beside the ideal
  --only batches                submissions of one directive, and of 1,000, that nobody executes
  --only streams                answers of a model that are followed while they are written, once
  --only takeover               from the SIGKILL of a worker to the next claim, quiet and in crash loops
  --takeovers 20                of each case
  --life 1800                   milliseconds that a worker of a crash loop works
  --streams 200                 such answers at once
  --pieces 500                  of each answer
  --pace 50                     milliseconds between two pieces of an answer
  --fsync everysec,always       Redis' appendfsync
  --slots 50                    operations that a worker runs at once; plain BullMQ slows down with more slots than jobs
  --rounds 3                    each scenario so often, in turns; the report shows the round with the median rate
  --save                        write the ratios to bench/last-run.json; figures of the last run are shown in brackets
  --busy                        measure on a machine that has other work, too
  --commands                    count the commands that each operation sends to Redis`;

const { values } = parseArgs({
  options: {
    n: { type: 'string', default: '5000' },
    single: { type: 'string', default: '500' },
    only: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
    fsync: { type: 'string', default: 'everysec,always' },
    slots: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '3' },
    commands: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
    busy: { type: 'boolean', default: false },
    streams: { type: 'string', default: '200' },
    pieces: { type: 'string', default: '500' },
    pace: { type: 'string', default: '50' },
    takeovers: { type: 'string', default: '20' },
    life: { type: 'string', default: '1800' },
    help: { type: 'boolean', default: false },
  },
});

/** Measured in its own way: nothing of it is an operation that begins and ends. */
const STREAMS = 'streams';
const TAKEOVER = 'takeover';
const TRACES = 'traces';
const HOSTS = 'hosts';
const WORKERS = 'workers';
const BATCHES = 'batches';

/** Scenarios that are measured together, and named by one word. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Scenario>>>> = {
  [TRACES]: TRACE_SCENARIOS,
  [HOSTS]: HOST_SCENARIOS,
};

const COUNTED: LoadRequest = { count: 100, concurrency: 1 };

const plan: Plan = {
  loads: [
    { count: Number(values.n), concurrency: 100 },
    { count: Number(values.single), concurrency: 1 },
  ],
  counted: values.commands ? COUNTED : null,
};

if (values.help) console.log(USAGE);
else await runAll();

async function runAll(): Promise<void> {
  const refusal = values.busy ? null : await busyMachine();
  if (refusal !== null) {
    console.error(refusal);
    process.exitCode = 1;
    return;
  }
  for (const fsync of values.fsync.split(',')) await run(fsync === 'always' ? 'always' : 'everysec');
}

async function run(fsync: 'always' | 'everysec'): Promise<void> {
  // A rewrite of the append-only file in the middle of a load would be charged to whoever runs then.
  const args = ['--auto-aof-rewrite-percentage', '0'];
  await using redis = await startRedis({ appendonly: true, appendfsync: fsync, args });
  if (values.only === STREAMS) return await followStreams(fsync, redis);
  if (values.only === TAKEOVER) return await takeOver(fsync, redis);
  if (values.only === BATCHES) return await submitBatches(fsync, redis);
  if (values.only === WORKERS) return await scaleOut(fsync, redis);
  const named = Object.keys(GROUPS[values.only] ?? {});
  if (named.length === 0) named.push(...values.only.split(','));
  const scenarios = named.map(scenarioNamed);
  const measurements: Measurement[] = [];
  const commands = new Map<Scenario, Measured['commands']>();
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const scenario of scenarios) {
      console.log(`… AOF ${fsync}, round ${round}: ${scenario.name}`);
      const measured = await runScenario(scenario, redis);
      measurements.push(...measured.measurements.map((row) => ({ ...row, ...labels(scenario) })));
      commands.set(scenario, measured.commands);
    }
  }
  conclude(fsync, medians(measurements));
  for (const [{ name }, counts] of values.commands ? commands : []) {
    console.log(commandReport(name, counts, COUNTED.count));
  }
}

/** A row that other processes disturbed is shown, and never kept. */
function conclude(fsync: string, measurements: readonly Measurement[]): void {
  console.log(report(fsync, measurements, lastRows()));
  const faults = disturbed(measurements);
  if (faults.length > 0) console.log(`\nDisturbed, measure again:\n${faults.join('\n')}`);
  if (!values.save) return;
  if (faults.length > 0) throw new Error('Nothing is saved of a run that was disturbed.');
  saveRows(rowsOf(fsync, measurements), new Date().toISOString().slice(0, 10));
}

async function followStreams(fsync: string, redis: TestRedis): Promise<void> {
  console.log(`… AOF ${fsync}: ${STREAMS}`);
  const { streams, pieces, pace } = values;
  const counts = { streams: Number(streams), pieces: Number(pieces), paceMs: Number(pace) };
  console.log(await benchStreams(redis, counts));
}

async function takeOver(fsync: string, redis: TestRedis): Promise<void> {
  console.log(`… AOF ${fsync}: ${TAKEOVER}`);
  const { takeovers, life } = values;
  console.log(await benchTakeovers(redis, { takeovers: Number(takeovers), lifeMs: Number(life) }));
}

async function scaleOut(fsync: string, redis: TestRedis): Promise<void> {
  console.log(`… AOF ${fsync}: ${WORKERS}`);
  console.log(await benchWorkers(redis, { operations: Number(values.n), rounds: Number(values.rounds) }));
}

async function submitBatches(fsync: string, redis: TestRedis): Promise<void> {
  console.log(`… AOF ${fsync}: ${BATCHES}`);
  console.log(await benchBatches(redis, { directives: Number(values.n), rounds: Number(values.rounds) }));
}

function labels({ name, baseline }: Scenario) {
  return { scenario: name, baseline };
}

function scenarioNamed(name: string): Scenario {
  const scenario = SCENARIOS[name] ?? TRACE_SCENARIOS[name] ?? HOST_SCENARIOS[name];
  if (scenario === undefined) throw new Error(`'${name}' is no scenario.\n${USAGE}`);
  return scenario;
}

async function runScenario(scenario: Scenario, redis: TestRedis): Promise<Measured> {
  const stage = await scenario.start(redis, Number(values.slots));
  try {
    return await measure(scenario.transport, stage, plan);
  } finally {
    await stage.stop();
  }
}
