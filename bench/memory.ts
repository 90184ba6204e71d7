/** `npm run test:memory`: many directives through one worker process; whether the worker and Redis give their memory back.
 *  It must read memory as the operating system and Redis report it, never as a process counts its own. */
import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { createDirectClient } from '../src/service/direct-client.ts';
import { spawnNode } from '../test/support/process.ts';
import { startRedis } from '../test/support/redis.ts';
import { runLoad } from './load.ts';

const { values } = parseArgs({
  options: {
    n: { type: 'string', default: '200000' },
    first: { type: 'string', default: '20000' },
    concurrency: { type: 'string', default: '100' },
  },
});
const count = Number(values.n);
const first = Number(values.first);
const concurrency = Number(values.concurrency);

/** Closed requests are forgotten this soon, so that Redis' memory can be seen to return. */
const RETENTION_MS = 2_000;
const MOST_GROWTH = 1.2;
/** Redis' allocator keeps a little for itself. */
const REDIS_SLACK_BYTES = 4 * 1_024 * 1_024;

function residentMiB(pid: number): number {
  const pages = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(pages?.[1] ?? 0) / 1_024;
}

async function usedMemory(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1] ?? 0);
}

async function writeConfig(): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'adjutant-memory-')), 'adjutant.json');
  const args = [resolve('bench/noop-server-process.ts')];
  const config = {
    mcpServers: { noop: { command: process.execPath, args } },
    retention: { closed_ms: RETENTION_MS },
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

async function untilExpired(redis: Redis): Promise<number> {
  let left = await redis.dbsize();
  for (let before = left + 1; left < before;) {
    before = left;
    await new Promise((resume) => setTimeout(resume, RETENTION_MS + 1_000));
    left = await redis.dbsize();
  }
  return usedMemory(redis);
}

const server = await startRedis({ appendonly: false });
const redis = new Redis(server.url);
const worker = spawnNode([resolve('src/cli/main.ts'), 'worker', '--config', await writeConfig()], {
  env: { REDIS_URL: server.url },
});
await worker.waitForLine(/ready|works/);
const client = await createDirectClient({ redisUrl: server.url, retentionMs: RETENTION_MS });
const call = async (): Promise<void> => {
  const ended = await client.execute({ type: 'tool_exec', tool_name: 'noop.noop' });
  if (ended.type !== 'ai.tool.result' || !ended.data.result.ok) throw new Error(JSON.stringify(ended.data));
};

await runLoad(call, concurrency, concurrency);
const redisStart = await untilExpired(redis);
await runLoad(call, first, concurrency);
const early = residentMiB(worker.pid);
console.log(`after ${first} directives: worker ${early.toFixed(0)} MiB`);
for (let done = first; done < count; done += first) {
  const { perSecond } = await runLoad(call, Math.min(first, count - done), concurrency);
  const total = Math.min(done + first, count);
  console.log(`after ${total}: worker ${residentMiB(worker.pid).toFixed(0)} MiB, ${perSecond.toFixed(0)}/s`);
}
const late = residentMiB(worker.pid);
const redisEnd = await untilExpired(redis);
await client.close();
await worker.stop();
redis.disconnect();
await server.stop();

const growth = late / early;
const redisGrowth = redisEnd - redisStart;
console.log(`worker: ${growth.toFixed(2)} times its size after ${first} directives (at most ${MOST_GROWTH})`);
console.log(`Redis: ${(redisGrowth / 1_024).toFixed(0)} KiB more than at its start, after retention`);
const passed = growth <= MOST_GROWTH && redisGrowth <= REDIS_SLACK_BYTES;
console.log(passed ? 'ok' : 'FAILED');
process.exitCode = passed ? 0 : 1;
