/** What is compared: each scenario's transport, and the processes it needs besides Redis and the client.
 *  It must give every scenario the same Redis and the same split of processes. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Child, freePort, spawnNode } from '../test/support/process.ts';
import type { TestRedis } from '../test/support/redis.ts';
import type { Part, Stage } from './measurement.ts';
import type { Target } from './transport.ts';

export interface Scenario {
  /** What the report calls it. */
  readonly name: string;
  /** Of the client process. */
  readonly transport: string;
  /** `slots`: how many operations the worker runs at once. */
  start(redis: TestRedis, slots: number): Promise<Stage>;
}

/** The scenario that the others are compared with. */
export const BASELINE = 'plain BullMQ';

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  bullmq: { name: BASELINE, transport: 'bullmq', start: startBaseline },
  direct: { name: 'directive, direct', transport: 'direct', start: startDirect },
  http: { name: 'directive, HTTP', transport: 'http', start: startHttp },
  mcp: { name: 'MCP call alone', transport: 'mcp', start: startNothing },
};

/** Name of the baseline's queue. */
const QUEUE = 'baseline';

const CLI = resolve('src/cli/main.ts');

async function startBaseline(redis: TestRedis, slots: number): Promise<Stage> {
  const args = ['bench/bullmq-worker-process.ts', String(redis.port), QUEUE, String(slots)];
  return stage(redis, { worker: await ready(spawnNode(args)) });
}

async function startDirect(redis: TestRedis, slots: number): Promise<Stage> {
  return stage(redis, { worker: await startRole(redis, 'worker', await writeConfig(slots)) });
}

async function startHttp(redis: TestRedis, slots: number): Promise<Stage> {
  const config = await writeConfig(slots);
  const port = await freePort();
  const worker = await startRole(redis, 'worker', config);
  const api = await startRole(redis, 'api', config, ['--port', String(port)]);
  return stage(redis, { worker, api }, `http://127.0.0.1:${port}`);
}

/** The client process itself holds the pool. */
function startNothing(redis: TestRedis): Promise<Stage> {
  return Promise.resolve({ ...stage(redis, {}), parts: [] });
}

function stage(redis: TestRedis, children: Readonly<Record<string, Child>>, baseUrl = ''): Stage {
  const target: Target = { redisPort: redis.port, queue: QUEUE, baseUrl };
  const parts: Part[] = Object.entries(children).map(([name, { pid }]) => ({ name, pid }));
  return {
    target,
    parts: [{ name: 'redis', pid: redis.pid }, ...parts],
    stop: async () => void (await Promise.all(Object.values(children).map((child) => child.stop()))),
  };
}

/** A configuration with the no-op server as its only one. */
async function writeConfig(slots: number): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'adjutant-bench-')), 'adjutant.json');
  const args = [resolve('bench/noop-server-process.ts')];
  const noop = { command: process.execPath, args, lane: { concurrency: slots } };
  await writeFile(file, JSON.stringify({ mcpServers: { noop } }));
  return file;
}

async function startRole(
  redis: TestRedis,
  role: 'api' | 'worker',
  configFile: string,
  options: readonly string[] = [],
): Promise<Child> {
  const args = [CLI, role, '--config', configFile, ...options];
  return ready(spawnNode(args, { env: { REDIS_URL: redis.url } }));
}

async function ready(child: Child): Promise<Child> {
  await child.waitForLine(/ready|works|listens on/);
  return child;
}
