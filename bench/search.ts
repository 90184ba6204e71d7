/** `node --conditions=adjutant-source bench/search.ts [requests]`: how long pages of the list take among so many requests, and what a row costs.
 *  It must not measure the reading of requests: the rows are written as an indexer writes them. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { createChangedRequests } from '../src/store/index/changed-requests.ts';
import { keySpace } from '../src/store/keys.ts';
import { redisClock } from '../src/platform/redis/clock.ts';
import { createListBuild } from '../src/store/search/list-build.ts';
import { createRequestList } from '../src/store/search/request-list.ts';
import { type RequestFacts, rowOf } from '../src/store/search/row.ts';
import { createSearchIndex } from '../src/store/search/search-index.ts';
import type { RequestQuery } from '../src/contract/request/request-listing.ts';
import { startRedis } from '../test/support/redis.ts';
import { measureLag } from './list-lag.ts';

const DEFAULT_COUNT = 100_000;
const WRITTEN_AT_ONCE = 1_000;
const ROUNDS = 20;
const count = Number(process.argv[2] ?? DEFAULT_COUNT);

/** One in a hundred has failed, one in a thousand waits; ten agents, a hundred tools. */
function factsOf(nth: number, now: number): RequestFacts {
  const failed = nth % 100 === 0;
  const waits = nth % 1_000 === 1;
  return {
    requestId: randomUUID(),
    version: 3,
    createdAt: now - (count - nth),
    closedAt: waits ? null : now,
    expiresAt: waits ? null : now + 86_400_000,
    open: waits ? 1 : 0,
    directives: 1,
    bytes: 1_000,
    types: ['tool_exec'],
    tools: [`server.tool_${nth % 100}`],
    models: [],
    errorTypes: failed ? ['timeout'] : [],
    tags: nth % 50 === 0 ? ['nightly'] : [],
    text: nth === 0 ? 'the oldest question' : '',
    waitingFor: waits ? ['question'] : [],
    anyFailed: failed,
    anyCancelled: false,
    run: null,
  };
}

const redis = await startRedis();
const connection = new Redis(redis.url);
const keys = keySpace('bench');
const index = createSearchIndex(connection, keys);
const changes = createChangedRequests(connection, keys);
const list = createRequestList({
  index,
  changes,
  build: createListBuild(connection, keys),
  storedOf: async () => null,
  tenants: async () => ['default'],
  now: redisClock(connection),
});

async function usedBytes(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await connection.info('memory'))?.[1] ?? 0);
}

async function write(): Promise<void> {
  const now = Date.now();
  for (let first = 0; first < count; first += WRITTEN_AT_ONCE) {
    const nths = Array.from({ length: Math.min(WRITTEN_AT_ONCE, count - first) }, (_, at) => first + at);
    const rows = nths.map((nth) => rowOf(factsOf(nth, now)));
    await index.write(rows, []);
  }
}

async function measure(name: string, query: RequestQuery): Promise<void> {
  const times: number[] = [];
  let found = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    found = (await list(query, 'default')).requests.length;
    times.push(performance.now() - startedAt);
  }
  const sorted = times.toSorted((left, right) => left - right);
  const [median = 0, worst = 0] = [sorted[ROUNDS / 2], sorted.at(-1)];
  process.stdout.write(`${name}: ${found} found, p50 ${median.toFixed(1)} ms, max ${worst.toFixed(1)} ms\n`);
}

await measureLag(redis.url);
const before = await usedBytes();
const startedAt = performance.now();
await write();
const us = ((performance.now() - startedAt) * 1_000) / count;
const bytes = (await usedBytes()) - before;
process.stdout.write(`${count} rows: ${us.toFixed(0)} µs and ${(bytes / count).toFixed(0)} bytes a row\n`);
await measure('first page', {});
await measure('status=failed', { status: 'failed' });
await measure('status=succeeded, tool', { status: 'succeeded', tool: 'server.tool_7' });
await measure('tag and failed', { tag: 'nightly', status: 'failed' });
await measure('tool and tag that never meet', { tool: 'server.tool_7', tag: 'nightly' });
await measure('words that nothing has', { q: 'nothing has this' });
await connection.quit();
await redis.stop();
