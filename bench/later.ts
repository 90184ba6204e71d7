/** `node --conditions=adjutant-source bench/later.ts [directives]`: what directives that begin later cost while they wait, and when they begin at once.
 *  It must not measure their execution: no worker is there. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { keySpace } from '../src/store/keys.ts';
import { createLaterIndex } from '../src/store/index/later-index.ts';
import { createSweepIndex } from '../src/store/index/sweep-index.ts';
import { createDirectClient } from '../src/service/direct-client.ts';
import { startRedis } from '../test/support/redis.ts';
import { processorTimeMs } from './processor-time.ts';

const DEFAULT_COUNT = 100_000;
const BATCH = 500;
const LOOK_MS = 500;
const WAIT_MS = 5_000;
const DAY_MS = 86_400_000;
const count = Number(process.argv[2] ?? DEFAULT_COUNT);

const redis = await startRedis();
const connection = new Redis(redis.url);
const keys = keySpace('bench');
const later = createLaterIndex(connection, keys);
const sweep = createSweepIndex(connection, keys);
const client = await createDirectClient({
  redisUrl: redis.url,
  prefix: 'bench',
  knownServers: ['bench'],
  maxQueued: null,
});

async function usedBytes(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await connection.info('memory'))?.[1] ?? 0);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function submitAll(): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const request_id = randomUUID();
    await client.submit(
      Array.from({ length: Math.min(BATCH, count - first) }, (_, at) => ({
        type: 'tool_exec' as const,
        tool_name: 'bench.noop',
        request_id,
        id: `d-${at}`,
        delay_ms: DAY_MS + at,
      })),
    );
  }
}

/** As the sweepers of ten processes look. */
async function waitIdle(): Promise<number> {
  const before = processorTimeMs(redis.pid);
  const startedAt = performance.now();
  while (performance.now() - startedAt < WAIT_MS) {
    await Promise.all(Array.from({ length: 10 }, () => Promise.all([later.take(100), sweep.take(200)])));
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return (processorTimeMs(redis.pid) - before) / ((performance.now() - startedAt) / 1_000);
}

/** All of them begin now. */
async function takeAll(): Promise<{ us: number; worstMs: number; taken: number }> {
  const [index] = keys.later;
  await connection.zunionstore(index, 1, index, 'WEIGHTS', 0);
  const startedAt = performance.now();
  let [taken, worstMs] = [0, 0];
  for (let entries = -1; entries !== 0;) {
    const askedAt = performance.now();
    entries = (await later.take(100)).entries.length;
    worstMs = Math.max(worstMs, performance.now() - askedAt);
    taken += entries;
  }
  return { us: ((performance.now() - startedAt) * 1_000) / taken, worstMs, taken };
}

const before = await usedBytes();
const startedAt = performance.now();
await submitAll();
const us = ((performance.now() - startedAt) * 1_000) / count;
say(`${count} accepted: ${us.toFixed(0)} µs each, ${await later.size()} wait`);
const index = Number(await connection.memory('USAGE', keys.later[0], 'SAMPLES', 0));
const bytes = (await usedBytes()) - before;
say(`${(bytes / count).toFixed(0)} bytes each, ${(index / count).toFixed(0)} of them in the index`);
say(
  `${(await waitIdle()).toFixed(1)} ms of Redis' processor time a second while they wait, looked at by ten processes`,
);
const { us: each, worstMs, taken } = await takeAll();
say(`${taken} taken out at once: ${each.toFixed(1)} µs each, the longest answer ${worstMs.toFixed(1)} ms`);
await client.close();
await connection.quit();
await redis.stop();
