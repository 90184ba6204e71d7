/** A private redis-server for a test: own port, own directory, killed and started again as needed.
 *  It must never touch a Redis it did not start. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Child, freePort, spawnProcess } from './process.ts';

export interface RedisOptions {
  /** Default: false. */
  readonly appendonly?: boolean;
  /** Default: everysec. */
  readonly appendfsync?: 'always' | 'everysec' | 'no';
  /** Default: a free one. */
  readonly port?: number;
  /** The folder of the append-only file. Default: a temporary directory, removed by `stop`. */
  readonly dir?: string;
  /** More command line arguments, as redis-server takes them. */
  readonly args?: readonly string[];
}

export interface TestRedis {
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  /** Of the current process. */
  readonly pid: number;
  /** As in `Child`, of its log. */
  waitForLine(pattern: RegExp): Promise<string>;
  kill9(): Promise<void>;
  /** Starts it again on the same port and directory; ends a running one first. Resolves when it answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `REDIS_SERVER`, or the first redis-server on the PATH. Throws a sentence when there is none. */
export function redisServerPath(): string {
  const named = process.env['REDIS_SERVER'];
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found =
    named ?? folders.map((folder) => join(folder, 'redis-server')).find((path) => existsSync(path));
  if (found === undefined)
    throw new Error('redis-server is not on the PATH: install it, or set REDIS_SERVER.');
  return found;
}

export async function startRedis(options: RedisOptions = {}): Promise<TestRedis> {
  const port = options.port ?? (await freePort());
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'adjutant-redis-')));
  const args = argumentsOf(port, dir, options);
  let child = await launch(args, port);
  const stop = async (): Promise<void> => {
    await child.kill9();
    if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    dir,
    get pid() {
      return child.pid;
    },
    waitForLine: (pattern) => child.waitForLine(pattern),
    kill9: async () => void (await child.kill9()),
    restart: async () => {
      await child.kill9();
      child = await launch(args, port);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function argumentsOf(port: number, dir: string, options: RedisOptions): string[] {
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir,
    save: '',
    appendonly: options.appendonly === true ? 'yes' : 'no',
    appendfsync: options.appendfsync ?? 'everysec',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return [...flags, ...(options.args ?? [])];
}

const PORT_TRIES = 50;
const PORT_PAUSE_MS = 100;

async function launch(args: readonly string[], port: number): Promise<Child> {
  const child = await launched(args, PORT_TRIES);
  await untilItAnswers(port);
  return child;
}

/** While it was away its port may be in use for a moment, as that of somebody's connection, or of a child that it left. */
async function launched(args: readonly string[], tries: number): Promise<Child> {
  const child = spawnProcess(redisServerPath(), args);
  try {
    await child.waitForLine(/Ready to accept connections/);
    return child;
  } catch (error) {
    if (tries <= 1 || !/Address already in use/.test(String(error))) throw error;
    await delay(PORT_PAUSE_MS);
    return launched(args, tries - 1);
  }
}

/** A server that replays its append-only file listens before it answers. */
async function untilItAnswers(port: number): Promise<void> {
  const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null, retryStrategy: () => 50 });
  redis.on('error', () => {});
  await redis.ping();
  redis.disconnect();
}
