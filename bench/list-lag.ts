/** How long after its end a request is in the list as ended, while a worker has all that it can do.
 *  It must look at the row itself: `lag_ms` is what is to be believed. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createChangedRequests } from '../src/store/index/changed-requests.ts';
import { keySpace } from '../src/store/keys.ts';
import { redisClock } from '../src/platform/redis/clock.ts';
import { createDirectClient } from '../src/service/direct-client.ts';
import { spawnNode } from '../test/support/process.ts';
import { runLoad } from './load.ts';

const COUNT = 3_000;
const CONCURRENCY = 100;
/** One in so many is looked at. */
const LOOKED_AT = 20;
const POLL_MS = 5;
const keys = keySpace();

async function writeConfig(): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'adjutant-lag-')), 'adjutant.json');
  const noop = { command: process.execPath, args: [resolve('bench/noop-server-process.ts')] };
  await writeFile(file, JSON.stringify({ mcpServers: { noop } }));
  return file;
}

async function untilListed(redis: Redis, requestId: string): Promise<number> {
  const [rows] = keys.search('default');
  for (const endedAt = performance.now(); ; await delay(POLL_MS)) {
    const stored = await redis.hget(rows, requestId);
    if (stored !== null && isClosed(stored)) return performance.now() - endedAt;
  }
}

/** A row is its place in the sets, then JSON. */
function isClosed(row: string): boolean {
  return (JSON.parse(row.slice(row.indexOf('\u0002') + 1)) as { closed: number | null }).closed !== null;
}

function percentiles(times: readonly number[]): string {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(0);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${(sorted.at(-1) ?? 0).toFixed(0)} ms`;
}

/** Prints what was seen, and what `lag_ms` said meanwhile. The Redis is empty. */
export async function measureLag(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  const changes = createChangedRequests(redis, keys);
  const now = redisClock(redis);
  const args = [resolve('src/cli/main.ts'), 'worker', '--config', await writeConfig()];
  const worker = spawnNode(args, { env: { REDIS_URL: redisUrl } });
  await worker.waitForLine(/ready|works/);
  const client = await createDirectClient({ redisUrl });
  const seen: Promise<number>[] = [];
  const said: number[] = [];
  const asking = setInterval(() => void now().then(async (at) => said.push(await changes.lagMs(at))), 50);
  const load = await runLoad(
    async (nth) => {
      const request_id = randomUUID();
      await client.execute({ type: 'tool_exec', tool_name: 'noop.noop', request_id });
      if (nth % LOOKED_AT === 0) seen.push(untilListed(redis, request_id));
    },
    COUNT,
    CONCURRENCY,
  );
  const times = await Promise.all(seen);
  clearInterval(asking);
  process.stdout.write(
    `from the end to the row, ${CONCURRENCY} in flight, ${load.perSecond.toFixed(0)}/s: ${percentiles(times)}\n` +
      `lag_ms meanwhile: ${percentiles(said)}\n`,
  );
  await client.close();
  await worker.stop();
  redis.disconnect();
}
