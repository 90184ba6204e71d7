/** `npm run bench -- --only depth`: what a directive costs beside few and many others: closed ones in the journal, waiting ones in its lane.
 *  It must measure the sizes in turns where it can: a machine that grows warm must not look like a journal that grows deep. */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { table } from '../src/cli/table.ts';
import type { SubmittedDirective } from '../src/contract/directive/directive.ts';
import { keySpace } from '../src/store/keys.ts';
import { createDirectClient } from '../src/service/direct-client.ts';
import type { TestRedis } from '../test/support/redis.ts';
import { runLoad } from './load.ts';
import { measure, OTHERS, type Stage } from './measurement.ts';
import { NOOP, noop } from './noop-module.ts';
import { processorTimeMs } from './processor-time.ts';
import { middle } from './report.ts';
import { startApi, startNoop } from './scenarios.ts';
import type { Section } from './sections.ts';

export interface DepthPlan {
  /** Directives that are there beside those that are measured, the fewest first. */
  readonly depths: readonly number[];
  /** Measured of each depth and round. */
  readonly operations: number;
  readonly rounds: number;
}

/** Microseconds of processor time for each directive, by process. */
type Costs = Readonly<Record<string, number>>;

interface Row {
  readonly what: string;
  readonly depth: number;
  readonly costs: Costs;
}

const CALLERS = 100;
const BATCH = 1_000;
/** Copied at once by a script: the loop of Redis stands for about ten milliseconds. */
const COPIES = 1_000;
/** A worker that has just begun is slower. */
const WARM_UP = 1_000;
/** Of those that wait this share is worked off while it is measured, so that what the sweeper does at times counts for its share. */
const WORKED_OFF = 0.1;
const LOOK_EVERY_MS = 5;
const WAITING = `{adjutant:custom.${NOOP}}:custom.${NOOP}:wait`;
const CHANGED = keySpace().changedRequests;
const NO_OP = { type: NOOP } as unknown as SubmittedDirective;

export async function benchDepth(startOne: () => Promise<TestRedis>, plan: DepthPlan): Promise<Section> {
  const rows = [...(await besideClosed(startOne, plan)), ...(await besideWaiting(startOne, plan))];
  return { text: report(plan, rows), figures: { depth: mostGrowth(plan, rows) } };
}

/** All depths are there at once, each in a Redis of its own, and are measured in turns. */
async function besideClosed(startOne: () => Promise<TestRedis>, plan: DepthPlan): Promise<Row[]> {
  await using all = new AsyncDisposableStack();
  const stages: [number, Stage][] = [];
  for (const depth of plan.depths) {
    const redis = all.use(await startOne());
    const stage = await startNoop(redis);
    all.defer(async () => stage.stop());
    await measure('noop', stage, { loads: [], counted: null });
    await copyClosed(redis, depth);
    stages.push([depth, stage]);
  }
  const rows: Row[] = [];
  const loads = [{ count: plan.operations, concurrency: CALLERS }];
  for (let round = 1; round <= plan.rounds; round += 1)
    for (const [depth, stage] of stages) {
      const { measurements } = await measure('noop', stage, { loads, counted: null });
      const costs = (measurements[0]?.costs ?? []).map(
        ({ name, perOperationUs }) => [name, perOperationUs] as const,
      );
      rows.push({ what: 'closed in the journal', depth, costs: Object.fromEntries(costs) });
    }
  return rows;
}

/** As if so many had been executed: copies of the keys of one that was. */
async function copyClosed({ port }: TestRedis, depth: number): Promise<void> {
  const redis = new Redis(port, '127.0.0.1');
  try {
    const [, found] = await redis.scan(0, 'MATCH', 'adjutant:{*}:state', 'COUNT', 10_000);
    const state = found[0] ?? '';
    for (let first = 0; first < depth; first += COPIES)
      await redis.eval(COPY, 1, state, first, Math.min(first + COPIES, depth) - 1);
  } finally {
    redis.disconnect();
  }
}

const COPY = `
local prefix, suffix = string.match(KEYS[1], '^(.-){.-}:(state)$')
local original = string.match(KEYS[1], '{(.-)}')
for number = ARGV[1], ARGV[2] do
  local copy = string.format('%s%08d', string.sub(original, 1, -9), number)
  for _, part in ipairs({ 'state', 'bodies', 'log' }) do
    redis.call('COPY', prefix .. '{' .. original .. '}:' .. part, prefix .. '{' .. copy .. '}:' .. part)
  end
end`;

/** One depth after the other: a lane that waits is worked off while it is measured. */
async function besideWaiting(startOne: () => Promise<TestRedis>, plan: DepthPlan): Promise<Row[]> {
  const rows: Row[] = [];
  for (let round = 1; round <= plan.rounds; round += 1)
    for (const depth of plan.depths) rows.push(...(await waitingRows(startOne, depth, plan.operations)));
  return rows;
}

async function waitingRows(
  startOne: () => Promise<TestRedis>,
  depth: number,
  operations: number,
): Promise<Row[]> {
  await using redis = await startOne();
  const added = await fill(redis, depth, operations);
  await listed(redis);
  const stage = await startNoop(redis);
  try {
    const taken = await drained(redis, stage, Math.max(operations, depth * WORKED_OFF));
    return [
      { what: 'waiting, a submission', depth, costs: added },
      { what: 'waiting, an execution', depth, costs: taken },
    ];
  } finally {
    await stage.stop();
  }
}

/** `depth` directives that wait, then what one more costs. What was measured waits too, and is worked off first by nobody. */
async function fill(redis: TestRedis, depth: number, operations: number): Promise<Costs> {
  const client = await createDirectClient({ redisUrl: redis.url, maxQueued: null, directives: [noop] });
  try {
    const batch = Array.from({ length: BATCH }, () => NO_OP);
    await runLoad(async () => void (await client.submit(NO_OP)), WARM_UP, CALLERS);
    await runLoad(async () => void (await client.submit(batch)), Math.ceil(depth / BATCH), 4);
    const pids = { redis: redis.pid, client: process.pid };
    const submit = async (): Promise<void> => void (await client.submit(NO_OP));
    return await costs(pids, operations, async () => runLoad(submit, operations, CALLERS));
  } finally {
    await client.close();
  }
}

/** Beside submissions an API writes the rows of what was submitted; what is executed then changes some of them once more. */
async function listed(redis: TestRedis): Promise<void> {
  const reader = new Redis(redis.port, '127.0.0.1');
  const stage = await startApi(redis);
  try {
    while ((await reader.zcard(CHANGED)) > 0) await pause(LOOK_EVERY_MS);
  } finally {
    await stage.stop();
    reader.disconnect();
  }
}

async function drained(redis: TestRedis, { parts }: Stage, operations: number): Promise<Costs> {
  const reader = new Redis(redis.port, '127.0.0.1');
  try {
    const pids = Object.fromEntries(parts.map(({ name, pid }) => [name, pid]));
    const before = await reader.llen(WAITING);
    await untilFewer(reader, before - WARM_UP / 2);
    const first = await reader.llen(WAITING);
    let last = first;
    const costsOfAll = await costs(pids, 1, async () => {
      last = await untilFewer(reader, Math.max(1, first - operations));
    });
    return Object.fromEntries(Object.entries(costsOfAll).map(([name, us]) => [name, us / (first - last)]));
  } finally {
    reader.disconnect();
  }
}

async function untilFewer(redis: Redis, count: number): Promise<number> {
  for (;;) {
    const waiting = await redis.llen(WAITING);
    if (waiting <= count) return waiting;
    await pause(LOOK_EVERY_MS);
  }
}

async function costs(
  pids: Readonly<Record<string, number>>,
  operations: number,
  work: () => Promise<unknown>,
): Promise<Costs> {
  const before = Object.values(pids).map(processorTimeMs);
  await work();
  return Object.fromEntries(
    Object.entries(pids).map(([name, pid], index) => [
      name,
      ((processorTimeMs(pid) - (before[index] ?? 0)) / operations) * 1_000,
    ]),
  );
}

/** Of all that is measured, the one whose cost grows most from the fewest to the most. */
function mostGrowth({ depths }: DepthPlan, rows: readonly Row[]): number {
  const [fewest, most] = [Math.min(...depths), Math.max(...depths)];
  const growths = [...Map.groupBy(rows, ({ what }) => what).values()].map((same) => {
    const [before, after] = [fewest, most].map((depth) =>
      medianOf(same.filter((row) => row.depth === depth)),
    );
    return before === undefined || after === undefined ? Number.NaN : total(after) / total(before);
  });
  return Math.max(...growths);
}

const COLUMNS = ['', 'directives', 'CPU µs', 'to the fewest', 'of it'] as const;

function report({ depths }: DepthPlan, rows: readonly Row[]): string {
  const kinds = [...Map.groupBy(rows, ({ what }) => what)];
  const lines = kinds.flatMap(([what, same]) => {
    const medians = depths.map((depth) => medianOf(same.filter((row) => row.depth === depth)));
    return medians.map((row, index) => [
      index === 0 ? what : '',
      String(row.depth),
      total(row).toFixed(0),
      `${(total(row) / total(medians[0] as Row)).toFixed(2)}×`,
      Object.entries(row.costs)
        .map(([name, us]) => `${name} ${us.toFixed(0)}`)
        .join(', '),
    ]);
  });
  return `\nA no-op beside others\n${table([COLUMNS, ...lines]).join('\n')}`;
}

function total({ costs: byName }: Row): number {
  const own = Object.entries(byName).filter(([name]) => name !== OTHERS);
  return own.reduce((sum, [, us]) => sum + us, 0);
}

function medianOf(rows: readonly Row[]): Row {
  return middle(rows, total);
}
