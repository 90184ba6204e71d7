/** What is compared: each scenario's transport, and the processes it needs besides Redis and the client.
 *  It must give every scenario the same Redis and the same split of processes. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type Child, freePort, spawnNode } from '../test/support/process.ts';
import type { TestCluster } from '../test/support/redis-cluster.ts';
import type { TestRedis } from '../test/support/redis.ts';
import { type Measured, measure, type Part, type Plan, type Stage } from './measurement.ts';
import type { Target } from './transport.ts';
import { RUN_AGENT, STEPS_AGENT } from './transports/run.ts';

export interface Scenario {
  /** What the report calls it. */
  readonly name: string;
  /** Name of the scenario it is compared with. */
  readonly baseline: string;
  /** Of the client process. */
  readonly transport: string;
  /** `slots`: how many operations the worker runs at once. */
  start(redis: TestRedis, slots: number): Promise<Stage>;
}

/** The scenarios that the others are compared with: a call with one job, a run with three. */
export const BASELINE = 'plain BullMQ';
const CHAIN_BASELINE = 'three BullMQ jobs';

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  bullmq: { name: BASELINE, baseline: BASELINE, transport: 'bullmq', start: startBaseline },
  noop: { name: 'no-op, direct', baseline: BASELINE, transport: 'noop', start: startNoop },
  'noop-up': {
    name: 'no-op, direct, one process',
    baseline: BASELINE,
    transport: 'noop',
    start: startSteps,
  },
  direct: { name: 'directive, direct', baseline: BASELINE, transport: 'direct', start: startDirect },
  'direct-mcp-http': {
    name: 'directive, direct, MCP over HTTP',
    baseline: BASELINE,
    transport: 'direct',
    start: startDirectOverHttp,
  },
  http: { name: 'directive, HTTP', baseline: BASELINE, transport: 'http', start: startHttp },
  up: { name: 'directive, HTTP, one process', baseline: BASELINE, transport: 'http', start: startUp },
  mcp: { name: 'MCP call alone', baseline: BASELINE, transport: 'mcp', start: startNothing },
  'mcp-http': {
    name: 'MCP call over HTTP alone',
    baseline: BASELINE,
    transport: 'mcp',
    start: startHttpServer,
  },
  chain: { name: CHAIN_BASELINE, baseline: CHAIN_BASELINE, transport: 'chain', start: startChain },
  steps: { name: 'run of no-ops', baseline: CHAIN_BASELINE, transport: 'steps', start: startSteps },
  apart: {
    name: 'run of no-ops, roles apart',
    baseline: CHAIN_BASELINE,
    transport: 'steps',
    start: startApart,
  },
  run: { name: 'run, direct', baseline: CHAIN_BASELINE, transport: 'run', start: startRuns },
};

/** What has a goal, by how Redis writes: names of scenarios. */
export const TABLE: Readonly<Record<'always' | 'everysec', readonly string[]>> = {
  everysec: [
    'bullmq',
    'noop',
    'noop-up',
    'direct',
    'direct-mcp-http',
    'http',
    'mcp',
    'mcp-http',
    'chain',
    'apart',
  ],
  always: ['bullmq', 'noop'],
};

const UNTRACED = 'HTTP, traces off';

/** The price of traces. Named apart: they say nothing beside plain BullMQ. */
export const TRACE_SCENARIOS: Readonly<Record<string, Scenario>> = {
  untraced: traced(UNTRACED, null),
  'traced-1': traced('HTTP, traces 1 %', 0.01),
  'traced-all': traced('HTTP, traces all', 1),
};

const HOST_BASELINE = 'MCP server, direct';

/** The price of durable tools for a host: the same calls of the same client, to the MCP server itself and through Adjutant. */
export const HOST_SCENARIOS: Readonly<Record<string, Scenario>> = {
  'host-direct': host(HOST_BASELINE, 'host-direct', startNothing),
  'host-http': host('through /mcp', 'host-http', startHttp),
  'host-stdio': host('through adjutant mcp', 'host-stdio', startHttp),
};

function host(name: string, transport: string, start: Scenario['start']): Scenario {
  return { name, baseline: HOST_BASELINE, transport, start: async (redis, slots) => start(redis, slots) };
}

/** `ratio` null: no endpoint is set. */
function traced(name: string, ratio: number | null): Scenario {
  const start = (redis: TestRedis, slots: number): Promise<Stage> => startHttp(redis, slots, ratio);
  return { name, baseline: UNTRACED, transport: 'http', start };
}

/** Name of the baseline's queue. */
const QUEUE = 'baseline';

const CLI = resolve('src/cli/main.ts');

async function startBaseline(redis: TestRedis, slots: number): Promise<Stage> {
  const args = ['bench/bullmq-worker-process.ts', String(redis.port), QUEUE, String(slots)];
  return stage(redis, { worker: await ready(spawnNode(args)) });
}

async function startChain(redis: TestRedis, slots: number): Promise<Stage> {
  const args = ['bench/chain-worker-process.ts', String(redis.port), QUEUE, String(slots)];
  return stage(redis, { worker: await ready(spawnNode(args)) });
}

async function startRuns(redis: TestRedis, slots: number): Promise<Stage> {
  return startUpWith(redis, await writeRunConfig(slots));
}

export async function startNoop(redis: TestRedis): Promise<Stage> {
  return stage(redis, { worker: await startRole(redis, 'worker', await writeNoopConfig()) });
}

/** Nobody executes anything. */
export async function startApi(redis: TestRedis): Promise<Stage> {
  const port = await freePort();
  return stage(redis, {
    api: await startRole(redis, 'api', await writeNoopConfig(), ['--port', String(port)]),
  });
}

/** As many lanes as bench/noop-lanes-module.ts has, over all masters. */
export async function startNoopLanes({ nodes, url }: Pick<TestCluster, 'nodes' | 'url'>): Promise<Stage> {
  const [first] = nodes;
  if (first === undefined) throw new Error('A cluster needs at least one node.');
  const file = await writeFileOf({ directives: [resolve('bench/noop-lanes-module.ts')] });
  const worker = await startRole({ url }, 'worker', file);
  const masters = nodes.map(({ pid }, index) => ({ name: `redis ${index + 1}`, pid }));
  const started = stage(first, { worker });
  const parts = [...masters, ...started.parts.filter(({ name }) => name !== 'redis')];
  return { ...started, parts, target: { ...started.target, redisUrl: url } };
}

/** All roles in one process. */
export async function startUpWith(redis: TestRedis, config: string): Promise<Stage> {
  const port = await freePort();
  const service = await startRole(redis, 'up', config, ['--port', String(port)]);
  return stage(redis, { service }, `http://127.0.0.1:${port}`);
}

export async function startSteps(redis: TestRedis): Promise<Stage> {
  return startUpWith(redis, await writeNoopConfig());
}

async function startApart(redis: TestRedis): Promise<Stage> {
  const config = await writeNoopConfig();
  const worker = await startRole(redis, 'worker', config);
  return stage(redis, { worker, engine: await startRole(redis, 'engine', config) });
}

/** The same roles with an API. */
export async function startApartWithApi(redis: TestRedis): Promise<Stage> {
  return startApartWith(redis, await writeNoopConfig());
}

export async function startApartWith(redis: TestRedis, config: string): Promise<Stage> {
  const port = await freePort();
  const worker = await startRole(redis, 'worker', config);
  const engine = await startRole(redis, 'engine', config);
  const api = await startRole(redis, 'api', config, ['--port', String(port)]);
  return stage(redis, { worker, engine, api }, `http://127.0.0.1:${port}`);
}

async function startDirect(redis: TestRedis, slots: number): Promise<Stage> {
  return stage(redis, { worker: await startRole(redis, 'worker', await writeConfig(slots)) });
}

async function startDirectOverHttp(redis: TestRedis, slots: number): Promise<Stage> {
  const { server, url } = await startNoopOverHttp();
  const config = await writeFileOf({ mcpServers: { noop: { url, lane: { concurrency: slots } } } });
  return stage(redis, { worker: await startRole(redis, 'worker', config), server });
}

async function startUp(redis: TestRedis, slots: number): Promise<Stage> {
  return startUpWith(redis, await writeConfig(slots));
}

/** `ratio`: share of the requests that are traced; null: no endpoint is set. */
async function startHttp(redis: TestRedis, slots: number, ratio: number | null = null): Promise<Stage> {
  const collector = ratio === null ? null : await startCollector();
  const telemetry = collector === null ? {} : { endpoint: collector.url, sample_ratio: ratio };
  const config = await writeConfig(slots, { telemetry });
  const port = await freePort();
  const worker = await startRole(redis, 'worker', config);
  const api = await startRole(redis, 'api', config, ['--port', String(port)]);
  const children = collector === null ? { worker, api } : { worker, api, collector: collector.child };
  return stage(redis, children, `http://127.0.0.1:${port}`);
}

/** Workers of one lane, each with `slots` of its own for a tool that takes `toolMs`. */
export async function startWorkers(
  redis: TestRedis,
  workers: number,
  slots: number,
  toolMs: number,
): Promise<Stage> {
  const config = await writeConfig(slots, {}, toolMs);
  const numbers = Array.from({ length: workers }, (_, index) => `worker ${index + 1}`);
  const started = numbers.map(async (name) => [name, await startRole(redis, 'worker', config)] as const);
  return stage(redis, Object.fromEntries(await Promise.all(started)));
}

/** API, one worker and its tools in processes of their own: in each lane a tool that takes as long as its caller says. */
export async function startPaced(
  redis: TestRedis,
  { lanes, slots, mostOpen }: { lanes: readonly string[]; slots: number; mostOpen: number },
): Promise<Stage> {
  const args = [resolve('bench/paced-server-process.ts')];
  const server = { command: process.execPath, args, lane: { concurrency: slots, max_queued: mostOpen } };
  const mcpServers = Object.fromEntries(lanes.map((name) => [name, server]));
  const config = await writeFileOf({ mcpServers, limits: { max_open: mostOpen } });
  const port = await freePort();
  const worker = await startRole(redis, 'worker', config);
  const api = await startRole(redis, 'api', config, ['--port', String(port)]);
  return stage(redis, { worker, api }, `http://127.0.0.1:${port}`);
}

async function startCollector(): Promise<{ child: Child; url: string }> {
  const child = spawnNode([resolve('bench/collector-process.ts')]);
  const line = await child.waitForLine(/listens on/);
  return { child, url: /http\S+/.exec(line)?.[0] ?? '' };
}

/** The client process itself holds the pool. */
function startNothing(redis: TestRedis): Promise<Stage> {
  return Promise.resolve({ ...stage(redis, {}), parts: [] });
}

async function startHttpServer(redis: TestRedis): Promise<Stage> {
  const { server, url } = await startNoopOverHttp();
  return stage(redis, { server }, url);
}

async function startNoopOverHttp(): Promise<{ server: Child; url: string }> {
  const port = await freePort();
  const server = await ready(spawnNode([resolve('bench/noop-server-process.ts'), '0', String(port)]));
  return { server, url: `http://127.0.0.1:${port}/mcp` };
}

/** Every child is a part of the scenario. */
export function stage(redis: TestRedis, children: Readonly<Record<string, Child>>, baseUrl = ''): Stage {
  const target: Target = { redisPort: redis.port, queue: QUEUE, baseUrl };
  const parts: Part[] = Object.entries(children).map(([name, { pid }]) => ({ name, pid }));
  return {
    target,
    parts: [{ name: 'redis', pid: redis.pid }, ...parts],
    stop: async () => void (await Promise.all(Object.values(children).map((child) => child.stop()))),
  };
}

/** A configuration with the no-op server as its only one. */
export async function writeConfig(slots: number, more: object = {}, toolMs = 0): Promise<string> {
  const args = [resolve('bench/noop-server-process.ts'), String(toolMs)];
  const noop = { command: process.execPath, args, lane: { concurrency: slots } };
  return writeFileOf({ mcpServers: { noop }, ...more });
}

/** The no-ops of bench/noop-module.ts; a lane of a directive type has 50 slots in each worker. */
async function writeNoopConfig(): Promise<string> {
  const module = resolve('bench/noop-module.ts');
  const agents = { [STEPS_AGENT]: { strategy: 'steps', model: 'none:none' } };
  const providers = { none: { type: 'scripted' } };
  return writeFileOf({ directives: [module], strategies: [module], providers, agents });
}

export async function writeFileOf(config: object): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'adjutant-bench-')), 'adjutant.json');
  await writeFile(file, JSON.stringify(config));
  return file;
}

/** A model that answers at once: with a call of the no-op, and with a word after it. */
async function writeRunConfig(slots: number): Promise<string> {
  const file = await writeConfig(slots);
  const { mcpServers } = JSON.parse(await readFile(file, 'utf8')) as { mcpServers: object };
  const turns = [
    { when: { tool_results: false }, tool_calls: [{ name: 'noop.noop' }] },
    { when: { tool_results: true }, text: 'done' },
  ];
  await writeFile(join(dirname(file), 'script.json'), JSON.stringify({ pace: 10_000, turns }));
  const providers = {
    none: { type: 'scripted', file: './script.json', lane: { concurrency: slots } },
  };
  const agents = { [RUN_AGENT]: { model: 'none:noop', tools: ['noop.*'], stream: false } };
  await writeFile(file, JSON.stringify({ mcpServers, providers, agents }));
  return file;
}

export async function startRole(
  redis: Pick<TestRedis, 'url'>,
  role: 'api' | 'worker' | 'engine' | 'up',
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

export async function runScenario(
  { start, transport }: Pick<Scenario, 'start' | 'transport'>,
  redis: TestRedis,
  slots: number,
  plan: Plan,
): Promise<Measured> {
  const started = await start(redis, slots);
  try {
    return await measure(transport, started, plan);
  } finally {
    await started.stop();
  }
}
