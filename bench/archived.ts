/** `npm run test:archived`: bytes of Redis that an open, a closed and an archived request hold, and what a Redis of 1 GB carries of them.
 *  It must fail when a request is missing in the archive, or when one whose row has gone leaves anything. */
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { table } from '../src/cli/table.ts';
import type { SubmittedDirective } from '../src/contract/directive/directive.ts';
import { DEFAULT_TENANT } from '../src/contract/access/tenant.ts';
import { createDirectClient } from '../src/service/direct-client.ts';
import { keySpace } from '../src/store/keys.ts';
import { spawnNode } from '../test/support/process.ts';
import { startRedis, type TestRedis } from '../test/support/redis.ts';
import { runLoad } from './load.ts';
import { NOOP, noop } from './noop-module.ts';

const { values } = parseArgs({ options: { n: { type: 'string', default: '100000' } } });
const most = Number(values.n);
/** Enough for a figure that does not change with their number, and less than a lane holds. */
const few = Math.min(Math.ceil(most / 10), 9_000);

const IN_FLIGHT = 100;
const BATCH = 1_000;
/** Keys that are not of a request: lists, catalogs, statistics. */
const MOST_OWN_KEYS = 100;
/** Polls without a change. */
const STILL_FOR = 8;
const NO_OP = { type: NOOP } as unknown as SubmittedDirective;
const SECOND_MS = 1_000;
/** Of requests that are to be seen to expire: longer than a batch takes to be archived on a busy machine. */
const SHORT_MS = 60 * SECOND_MS;
const HOUR_MS = 3_600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;
const MONTH_DAYS = 30;
const MONTH_MS = MONTH_DAYS * DAY_MS;
/** Of 1 GB; the rest is for connections, lanes, and the copy that a rewrite of the append-only file makes. */
const USABLE_BYTES = 750_000_000;
/** Bounds of what a no-op holds, by what it was when this was written. */
const MOST_CLOSED_BYTES = 6_000;
const MOST_ROW_BYTES = 1_000;
const MOST_LEFT_BYTES = 100;
const LONGEST_WAIT_MS = 1_800_000;

interface Phase {
  readonly requests: number;
  readonly closedMs: number;
  readonly listedMs: number;
  /** Without a worker every request stays open. */
  readonly isExecuted: boolean;
}

interface Held {
  readonly requests: number;
  /** Of Redis, a request. */
  readonly bytes: number;
  /** How many the archive has. */
  readonly archived: number;
}

async function heldBy(phase: Phase): Promise<Held> {
  await using server = await startRedis({ appendonly: false });
  const redis = new Redis(server.url);
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-archived-'));
  const archive = join(folder, 'archive');
  await mkdir(archive);
  const worker = await startWorker(server, folder, phase);
  const client = await createDirectClient({
    redisUrl: server.url,
    directives: [noop],
    retentionMs: phase.closedMs,
  });
  const archived = (): number => globSync(`${archive}/**/*.jsonl.gz`).length;
  try {
    const submit = async (): Promise<void> => {
      if (phase.isExecuted) await client.execute(NO_OP);
      else await client.submit(NO_OP);
    };
    const inBatches = async (requests: number): Promise<void> => {
      for (let left = requests; left > 0; left -= BATCH) {
        await runLoad(submit, Math.min(left, BATCH), IN_FLIGHT);
        // Faster than the archive is written they would expire before.
        if (phase.isExecuted)
          await until(async () => (await dueFor(redis)) < BATCH, 'the archive is written');
      }
      if (phase.isExecuted) await until(async () => (await dueFor(redis)) === 0, 'the archive is written');
      if (phase.closedMs === SHORT_MS)
        await until(async () => (await redis.dbsize()) < MOST_OWN_KEYS, 'the requests have expired');
      await untilStill(redis);
    };
    const warmUp = Math.ceil(phase.requests / 100);
    await inBatches(warmUp);
    const before = await usedMemory(redis);
    await inBatches(phase.requests);
    const bytes = ((await usedMemory(redis)) - before) / phase.requests;
    return { requests: phase.requests, bytes, archived: archived() - warmUp };
  } finally {
    await client.close();
    await worker?.stop();
    redis.disconnect();
    await rm(folder, { recursive: true });
  }
}

async function startWorker({ url }: TestRedis, folder: string, phase: Phase) {
  if (!phase.isExecuted) return null;
  const file = join(folder, 'adjutant.json');
  const config = {
    directives: [resolve('bench/noop-module.ts')],
    archive: { folder: './archive', listed_ms: phase.listedMs },
    retention: { closed_ms: phase.closedMs },
  };
  await writeFile(file, JSON.stringify(config));
  const worker = spawnNode([resolve('src/cli/main.ts'), 'worker', '--config', file], {
    env: { REDIS_URL: url },
  });
  await worker.waitForLine(/ready|works/);
  return worker;
}

async function usedMemory(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}

/** Requests that are still to be archived. */
async function dueFor(redis: Redis): Promise<number> {
  return redis.zcard(keySpace().archive);
}

/** Until nothing expires, and nothing is written or dropped of the list, for longer than the list waits to drop rows. */
async function untilStill(redis: Redis): Promise<void> {
  let last = '';
  let same = 0;
  await until(async () => {
    const sizes = await listSizes(redis);
    same = sizes === last ? same + 1 : 0;
    last = sizes;
    return same >= STILL_FOR;
  }, 'Redis changes no more');
}

async function listSizes(redis: Redis): Promise<string> {
  const [rows] = keySpace().search(DEFAULT_TENANT);
  return `${await redis.dbsize()} ${await redis.hlen(rows ?? '')}`;
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const endsAt = performance.now() + LONGEST_WAIT_MS; performance.now() < endsAt;) {
    if (await holds()) return;
    await pause(SECOND_MS);
  }
  throw new Error(`Not in half an hour: ${what}.`);
}

const closedPhase = { closedMs: DAY_MS, listedMs: 7 * DAY_MS, isExecuted: true };
const open = await heldBy({ ...closedPhase, requests: few, isExecuted: false });
console.log(`open: ${open.bytes.toFixed(0)} bytes`);
const closed = await heldBy({ ...closedPhase, requests: few });
console.log(`closed: ${closed.bytes.toFixed(0)} bytes`);
const listed = await heldBy({ ...closedPhase, requests: most, closedMs: SHORT_MS });
console.log(`archived, with its row of the list: ${listed.bytes.toFixed(0)} bytes`);
const gone = await heldBy({ ...closedPhase, requests: few, closedMs: SHORT_MS, listedMs: 1 });
console.log(`archived, after archive.listed_ms: ${gone.bytes.toFixed(1)} bytes\n`);

/** Requests a month at an even rate, none of which stays open for long. */
function carried(closedMs: number, listedMs: number): number {
  return (USABLE_BYTES / (closed.bytes * closedMs + listed.bytes * listedMs)) * MONTH_MS;
}

const CLOSED = [HOUR_MS, 6 * HOUR_MS, DAY_MS];
const LISTED = [1, HOUR_MS, DAY_MS, 7 * DAY_MS];
const hours = (ms: number): string => `${Math.round(ms / HOUR_MS)} h`;
const lines = CLOSED.map((closedMs) => [
  hours(closedMs),
  ...LISTED.map((listedMs) => `${(carried(closedMs, listedMs) / 1_000_000).toFixed(1)} M`),
]);
const heads = ['retention.closed_ms', ...LISTED.map((ms) => `listed ${hours(ms)}`)];
console.log(`No-ops a month in ${USABLE_BYTES / 1_000_000} MB\n${table([heads, ...lines]).join('\n')}`);

const phases = { closed, listed, gone };
const faults = [
  ...Object.entries(phases).map(([name, { archived, requests }]): [boolean, string] => [
    archived !== requests,
    `${name}: the archive has ${archived} of ${requests} requests`,
  ]),
  [closed.bytes > MOST_CLOSED_BYTES, `a closed request holds ${closed.bytes.toFixed(0)} bytes`],
  [listed.bytes > MOST_ROW_BYTES, `the row of an archived request holds ${listed.bytes.toFixed(0)} bytes`],
  [gone.bytes > MOST_LEFT_BYTES, `a request whose row has gone leaves ${gone.bytes.toFixed(0)} bytes`],
]
  .filter(([isFault]) => isFault)
  .map(([, text]) => text);
console.log(faults.length === 0 ? 'ok' : `FAILED\n${faults.join('\n')}`);
process.exitCode = faults.length === 0 ? 0 : 1;
