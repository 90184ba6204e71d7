/** One installation for a test: a Redis, a configuration with the counting server, and the real processes on it.
 *  It must never run a part of the service in the process of the test. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, watch } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownServerEntry } from './mcp-servers.ts';
import { type Child, spawnNode } from './process.ts';
import { type RedisOptions, startRedis, type TestRedis } from './redis.ts';
import { PROGRAM } from './program.ts';

export interface InstallationOptions {
  readonly redis?: RedisOptions;
  /** Policy of the server `counting`, as in adjutant.json. */
  readonly server?: Readonly<Record<string, unknown>>;
  /** The rest of adjutant.json. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** One line of the counter file: a tool was executed. */
export interface ToolExecution {
  readonly tool: 'read' | 'idempotent' | 'once';
  readonly key: string;
  readonly label: string;
  /** Of the MCP server. */
  readonly pid: number;
}

export interface AdjutantProcess extends Child {
  /** Of the API; empty for a worker. */
  readonly url: string;
}

type Role = 'up' | 'api' | 'engine' | 'worker';

export interface Processes {
  /** Of its keys in Redis. */
  readonly prefix: string;
  /** What the tools themselves have recorded. */
  executions(): ToolExecution[];
  /** Resolves when `condition` holds for the counted executions. */
  untilExecuted(condition: (executions: readonly ToolExecution[]) => boolean): Promise<void>;
  /** Processes of the MCP server that have executed calls, in the order of their first execution. */
  serverPids(): number[];
  /** Resolves when the process reports that it works. It is killed with the installation. */
  start(role: Role, port?: number, env?: Readonly<Record<string, string>>): Promise<AdjutantProcess>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Installation extends Processes {
  readonly redis: TestRedis;
}

export async function install(options: InstallationOptions = {}): Promise<Installation> {
  const redis = await startRedis(options.redis);
  const processes = await installOn(redis.url, options);
  const dispose = async (): Promise<void> => {
    await processes[Symbol.asyncDispose]();
    await redis.stop();
  };
  return { ...processes, redis, [Symbol.asyncDispose]: dispose };
}

/** On a Redis of the caller, of any topology, which stays. */
export async function installOn(
  redisUrl: string,
  options: Omit<InstallationOptions, 'redis'> = {},
): Promise<Processes> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-e2e-'));
  const counterFile = join(folder, 'counter.jsonl');
  const configFile = join(folder, 'adjutant.json');
  await writeFile(configFile, JSON.stringify(configuration(counterFile, options)));
  const prefix = `test-${randomUUID()}`;
  const env = {
    REDIS_URL: redisUrl,
    ADJUTANT_PREFIX: prefix,
    ADJUTANT_LOG_LEVEL: 'warn',
  };
  const started: Child[] = [];

  async function start(role: Role, port = 0, more = {}): Promise<AdjutantProcess> {
    const args = [PROGRAM, role, '--config', configFile];
    if (role === 'up' || role === 'api') args.push('--port', String(port));
    const child = spawnNode(args, { env: { ...env, ...more } });
    started.push(child);
    const line = await child.waitForLine(/^adjutant (works|listens on)/);
    return { ...child, url: /http\S+/.exec(line)?.[0] ?? '' };
  }

  async function dispose(): Promise<void> {
    await Promise.all(started.map((child) => child.kill9()));
    await rm(folder, { recursive: true, force: true });
  }

  const executions = (): ToolExecution[] => readCounter(counterFile);
  const serverPids = (): number[] => [...new Set(executions().map(({ pid }) => pid))];
  async function untilExecuted(condition: (counted: readonly ToolExecution[]) => boolean): Promise<void> {
    const watcher = watch(folder);
    while (!condition(executions())) await once(watcher, 'change');
    watcher.close();
  }

  return { prefix, executions, untilExecuted, serverPids, start, [Symbol.asyncDispose]: dispose };
}

function configuration(counterFile: string, { server, config }: InstallationOptions): object {
  const counting = ownServerEntry('counting.ts', { COUNTER_FILE: counterFile });
  return { mcpServers: { counting: { ...counting, ...server } }, ...config };
}

/** Whole lines only: a server may be about to write one. */
function readCounter(file: string): ToolExecution[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  return lines.map((line) => JSON.parse(line) as ToolExecution);
}
