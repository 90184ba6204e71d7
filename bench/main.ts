/** `npm run bench`: no-op directives against plain BullMQ and bare MCP calls, and streams against their provider.
 *  It must not run two loads at once. */
import { parseArgs } from 'node:util';
import { startRedis, type TestRedis } from '../test/support/redis.ts';
import { compare } from './against.ts';
import { disturbed, busyMachine } from './busy-machine.ts';
import { PEER_SCENARIOS } from './peers/peers.ts';
import { type Figures, figuresOf, goalTable } from './goals.ts';
import { lastFigures, type LastRow, lastRows, saveRun } from './last-run.ts';
import { type Measured, type Measurement, type Plan, WARM_UP } from './measurement.ts';
import { commandReport, medians, report, rowsOf } from './report.ts';
import {
  HOST_SCENARIOS,
  runScenario,
  type Scenario,
  SCENARIOS,
  TABLE,
  TRACE_SCENARIOS,
} from './scenarios.ts';
import { chapters, type SectionPlan, SECTIONS } from './sections.ts';

const USAGE = `npm run bench -- [options]
Without --only: the whole table with its goals, in about a quarter of an hour.
  --n 5000                      operations with 100 in flight; in the whole table 2000
  --single 500                  operations one at a time; in the whole table 200
  --warm 500                    operations before anything counts; the compiler of V8 goes on for some ten thousand
  --only bullmq,noop,noop-up,direct,direct-mcp-http,http,up,mcp,mcp-http,chain,steps,apart,run  these scenarios; ratios need 'bullmq' among them, those of runs 'chain'
  --only traces                 directives over HTTP without traces, with one in a hundred, with all
  --only hosts                  calls of an MCP host to the MCP server itself, through /mcp and through adjutant mcp
  --only peers                  one durable step and three over HTTP, beside Restate and DBOS with Postgres, which it installs
  --only agent                  a streaming agent of five turns, roles apart and in one process, beside a bare loop
  --only workers                1, 2 and 4 worker processes with tools of 50 ms, 10 at a time each, beside the ideal
  --only batches                submissions of one directive, and of 1,000, that nobody executes
  --only streams                answers of a model that are followed while they are written; once, or --rounds
  --only endpoint               the model endpoint and LiteLLM's proxy, which it installs, beside the provider; at most 50 streams
  --only depth                  a no-op beside few and many others: closed ones in the journal, waiting ones in its lane
  --depths 1000,10000,100000    how many others; a million takes 7 GB of memory and some minutes
  --only shards                 no-ops in twelve lanes over one master of Redis, and over three
  --only rest                   each role: until it is ready, and its memory at rest
  --only takeover               from the SIGKILL of a worker to the next claim, quiet and in crash loops
  --takeovers 20                of each case
  --life 1800                   milliseconds that a worker of a crash loop works
  --streams 200                 such answers at once
  --pieces 500                  of each answer
  --pace 50                     milliseconds between two pieces of an answer
  --fsync everysec,always       Redis' appendfsync
  --slots 50                    operations that a worker runs at once; plain BullMQ slows down with more slots than jobs
  --rounds 3                    each scenario so often, in turns, in the whole table 5; the report shows the round with the median rate
  --save                        write the ratios to bench/last-run.json; figures of the last run are shown in brackets
  --busy                        measure on a machine that has other work, too
  --against <commit>            that commit and this tree in turns, and their ratios; --only noop,http unless it says others
  --commands                    count the commands that each operation sends to Redis; the whole table does`;

const { values } = parseArgs({
  options: {
    n: { type: 'string' },
    single: { type: 'string' },
    warm: { type: 'string', default: String(WARM_UP) },
    only: { type: 'string' },
    fsync: { type: 'string', default: 'everysec,always' },
    slots: { type: 'string', default: '50' },
    rounds: { type: 'string' },
    commands: { type: 'boolean', default: false },
    against: { type: 'string' },
    save: { type: 'boolean', default: false },
    busy: { type: 'boolean', default: false },
    streams: { type: 'string', default: '200' },
    pieces: { type: 'string', default: '500' },
    pace: { type: 'string', default: '50' },
    depths: { type: 'string', default: '1000,10000,100000' },
    takeovers: { type: 'string', default: '20' },
    life: { type: 'string', default: '1800' },
    help: { type: 'boolean', default: false },
  },
});

type Fsync = SectionPlan['fsync'];

const isWhole = values.only === undefined;
const operations = Number(values.n ?? (isWhole ? 2_000 : 5_000));
const single = Number(values.single ?? (isWhole ? 200 : 500));
const rounds = Number(values.rounds ?? (isWhole ? 5 : 3));
const fsyncs = values.fsync.split(',').map((name): Fsync => (name === 'always' ? 'always' : 'everysec'));

/** Scenarios that are measured together, and named by one word. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Scenario>>>> = {
  traces: TRACE_SCENARIOS,
  hosts: HOST_SCENARIOS,
  peers: PEER_SCENARIOS,
};

const ALL: Readonly<Record<string, Scenario>> = {
  ...PEER_SCENARIOS,
  ...HOST_SCENARIOS,
  ...TRACE_SCENARIOS,
  ...SCENARIOS,
};

const COUNTED = { count: 100, concurrency: 1 };

const plan: Plan = {
  warmUp: Number(values.warm),
  loads: [
    { count: operations, concurrency: 100 },
    { count: single, concurrency: 1 },
  ],
  counted: values.commands || isWhole ? COUNTED : null,
};

if (values.help) console.log(USAGE);
else if (values.against !== undefined) console.log(compared(values.against));
else await runAll();

function compared(commit: string): string {
  const options = ['--n', String(operations), '--single', String(single), ...(values.busy ? ['--busy'] : [])];
  return compare({ commit, only: values.only ?? 'noop,http', rounds, options });
}

async function runAll(): Promise<void> {
  const { only } = values;
  const unknown = only === undefined || Object.hasOwn(SECTIONS, only) ? null : unknownScenario(only);
  const refusal = unknown ?? (values.busy ? null : await busyMachine());
  if (refusal !== null) {
    console.error(refusal);
    process.exitCode = 1;
    return;
  }
  const begunAt = performance.now();
  const section = SECTIONS[only ?? ''];
  if (only === undefined) await measureTable();
  else if (section === undefined) await measureScenarios(() => scenariosOf(only));
  else for (const fsync of fsyncs) console.log((await section(sectionPlan(fsync), startOne)).text);
  console.log(`\n${((performance.now() - begunAt) / 60_000).toFixed(1)} minutes`);
}

/** Everything that has a goal. */
async function measureTable(): Promise<void> {
  const figures: Record<string, number> = {};
  for (const { section, plan: ofSection } of chapters(sectionPlan('everysec'))) {
    console.log(`… ${section}`);
    const measured = await SECTIONS[section]?.(ofSection, startOne);
    console.log(measured?.text);
    Object.assign(figures, measured?.figures);
  }
  await measureScenarios((fsync) => TABLE[fsync].map(scenarioNamed), figures);
}

/** `before`: figures that this run has measured otherwise. */
async function measureScenarios(
  scenariosFor: (fsync: Fsync) => readonly Scenario[],
  before: Figures = {},
): Promise<void> {
  const rows: LastRow[] = [];
  const faults: string[] = [];
  let figures = before;
  for (const fsync of fsyncs) {
    const measurements = await inTurns(fsync, scenariosFor(fsync));
    console.log(report(fsync, measurements, lastRows()));
    const ofFsync = rowsOf(fsync, measurements);
    rows.push(...ofFsync);
    faults.push(...disturbed(measurements));
    figures = { ...figures, ...figuresOf(ofFsync, measurements) };
  }
  if (isWhole) console.log(goalTable(figures, lastFigures()));
  conclude(rows, figures, faults);
}

/** A row that other processes disturbed is shown, and never kept. */
function conclude(rows: readonly LastRow[], figures: Figures, faults: readonly string[]): void {
  if (faults.length > 0) console.log(`\nDisturbed, measure again:\n${faults.join('\n')}`);
  if (!values.save) return;
  if (faults.length > 0) throw new Error('Nothing is saved of a run that was disturbed.');
  saveRun(rows, figures, new Date().toISOString().slice(0, 10));
}

/** The median round of each scenario and load. */
async function inTurns(fsync: Fsync, scenarios: readonly Scenario[]): Promise<Measurement[]> {
  await using redis = await startOne(fsync);
  const measurements: Measurement[] = [];
  const commands = new Map<string, Measured['commands']>();
  for (let round = 1; round <= rounds; round += 1) {
    for (const scenario of scenarios) {
      console.log(`… AOF ${fsync}, round ${round}: ${scenario.name}`);
      const of = round === rounds ? plan : { ...plan, counted: null };
      const measured = await runScenario(scenario, redis, Number(values.slots), of);
      measurements.push(...measured.measurements.map((row) => ({ ...row, ...labels(scenario) })));
      commands.set(scenario.name, measured.commands);
    }
  }
  for (const [name, counts] of plan.counted === null ? [] : commands)
    console.log(commandReport(name, counts, COUNTED.count));
  return medians(measurements);
}

/** A rewrite of the append-only file in the middle of a load would be charged to whoever runs then. */
async function startOne(appendfsync: Fsync): Promise<TestRedis> {
  return startRedis({ appendonly: true, appendfsync, args: ['--auto-aof-rewrite-percentage', '0'] });
}

function sectionPlan(fsync: Fsync): SectionPlan {
  const { streams, pieces, pace, takeovers, life, depths } = values;
  return {
    fsync,
    operations,
    rounds,
    streams: {
      streams: Number(streams),
      pieces: Number(pieces),
      paceMs: Number(pace),
      rounds: Number(values.rounds ?? 1),
    },
    takeovers: { takeovers: Number(takeovers), lifeMs: Number(life) },
    depths: depths.split(',').map(Number),
  };
}

function labels({ name, baseline }: Scenario) {
  return { scenario: name, baseline };
}

function scenariosOf(only: string): readonly Scenario[] {
  const group = GROUPS[only];
  return group === undefined ? only.split(',').map(scenarioNamed) : Object.values(group);
}

/** null: all of them are known. */
function unknownScenario(only: string): string | null {
  const name = Object.hasOwn(GROUPS, only)
    ? undefined
    : only.split(',').find((each) => !Object.hasOwn(ALL, each));
  return name === undefined ? null : `'${name}' is no scenario: npm run bench -- --help lists them.`;
}

function scenarioNamed(name: string): Scenario {
  const scenario = ALL[name];
  if (scenario === undefined) throw new Error(`'${name}' is no scenario.`);
  return scenario;
}
