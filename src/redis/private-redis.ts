/** A folder's private redis-server, under `.adjutant/redis`: starts when no Redis is configured, stops with the service.
 *  It must never be shared by two services, nor listen beyond this machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { pause } from '../lifecycle.ts';
import {
  isAlive,
  PrivateRedisFailure,
  readLock,
  type RedisLock,
  releaseLock,
  takeLock,
  thisProcess,
  writeLock,
} from './private-lock.ts';

const START_ATTEMPTS = 3;
const START_LIMIT_MS = 15_000;
const STOP_LIMIT_MS = 10_000;
const POLL_MS = 20;

export interface PrivateRedis {
  readonly url: string;
  /** Leaves where the service listens, for `localServiceUrl`. */
  noteService(serviceUrl: string): Promise<void>;
  stop(): Promise<void>;
}

export interface Launch {
  /** Default: `redis-server`. */
  readonly program?: string;
  /** `PATH` of the environment, which is searched for the program. */
  readonly path: string | undefined;
}

/** The URL, with password, of the private Redis that an `adjutant up` (or `npm start`) runs in `folder`; null: none. */
export async function privateRedisUrl(folder: string): Promise<string | null> {
  const lock = await readLock(redisFolder(folder));
  return lock !== null && lock.url !== null && (await answers(lock.url)) ? lock.url : null;
}

const THIS_MACHINE: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * The URL of the service that runs in `folder` with a private Redis; null: there is none. Only an address of this machine:
 * the folder may have been copied from a stranger.
 */
export async function localServiceUrl(folder: string): Promise<string | null> {
  const { pid, serviceUrl } = (await readLock(redisFolder(folder))) ?? {};
  if (typeof serviceUrl !== 'string' || !URL.canParse(serviceUrl)) return null;
  if (typeof pid !== 'number' || !isAlive(pid)) return null;
  const { protocol, hostname, origin } = new URL(serviceUrl);
  return protocol === 'http:' && THIS_MACHINE.has(hostname) ? origin : null;
}

/** Starts a Redis, or adopts the one that a killed service left running. Throws `PrivateRedisFailure`. */
export async function startPrivateRedis(folder: string, launch: Launch): Promise<PrivateRedis> {
  const dir = redisFolder(folder);
  await makeFolder(folder, dir);
  const left = await takeLock(dir);
  try {
    return (await adopt(dir, left)) ?? (await start(dir, launch));
  } catch (error) {
    await releaseLock(dir);
    throw error;
  }
}

async function makeFolder(folder: string, dir: string): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await writeFile(join(folder, '.adjutant', '.gitignore'), '*\n');
  } catch (error) {
    throw new PrivateRedisFailure({
      what: `The folder of the private Redis cannot be made: ${(error as Error).message}.`,
      how: 'Start in a folder that you may write to, or set REDIS_URL to a Redis that runs.',
    });
  }
}

function redisFolder(folder: string): string {
  return resolve(folder, '.adjutant', 'redis');
}

async function adopt(dir: string, left: RedisLock | null): Promise<PrivateRedis | null> {
  if (left === null || left.url === null || left.redisPid === null || !(await answers(left.url))) return null;
  await writeLock(dir, { ...thisProcess(), url: left.url, redisPid: left.redisPid });
  return handle(dir, left.url, left.redisPid);
}

async function start(dir: string, { program = 'redis-server', path }: Launch): Promise<PrivateRedis> {
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt += 1) {
    const url = `redis://:${randomBytes(24).toString('hex')}@127.0.0.1:${await freePort()}`;
    const child = await spawnRedis(dir, url, program, path);
    await writeLock(dir, { ...thisProcess(), url, redisPid: child.pid ?? null });
    if (await untilItAnswers(url, child)) return handle(dir, url, child.pid ?? 0);
    child.kill('SIGKILL');
  }
  throw new PrivateRedisFailure({
    what: 'The private redis-server does not start.',
    how: `Its log says why: ${join(dir, 'redis.log')}. Or set REDIS_URL to a Redis that runs.`,
  });
}

/** In its own process group: an interrupt from the keyboard reaches only the service, which stops its Redis last. */
async function spawnRedis(
  dir: string,
  url: string,
  program: string,
  path: string | undefined,
): Promise<ChildProcess> {
  const file = join(dir, 'redis.conf');
  await writeFile(file, redisConfig(dir, new URL(url)), { mode: 0o600 });
  const child = spawn(program, [file], {
    detached: true,
    stdio: 'ignore',
    // Every process of this user can read the environment that it is started with.
    env: { PATH: path },
  });
  const failed = once(child, 'error').then(([error]) => error as Error);
  const spawned = once(child, 'spawn').then(() => null);
  const error = await Promise.race([failed, spawned]);
  if (error !== null) throw notInstalled();
  child.unref();
  return child;
}

function redisConfig(dir: string, url: URL): string {
  return [
    'bind 127.0.0.1',
    `port ${url.port}`,
    `requirepass ${url.password}`,
    `dir ${JSON.stringify(dir)}`,
    `logfile ${JSON.stringify(join(dir, 'redis.log'))}`,
    'save ""',
    'appendonly yes',
    'appendfsync always',
    'maxmemory-policy noeviction',
    'daemonize no',
    '',
  ].join('\n');
}

function notInstalled(): PrivateRedisFailure {
  return new PrivateRedisFailure({
    what: 'redis-server is not installed, and REDIS_URL is not set.',
    how: 'Install it (apt-get install redis-server, or brew install redis), or set REDIS_URL.',
  });
}

function handle(dir: string, url: string, pid: number): PrivateRedis {
  return {
    url,
    noteService: (serviceUrl) => writeLock(dir, { ...thisProcess(), url, redisPid: pid, serviceUrl }),
    stop: async () => {
      terminate(pid);
      const limit = AbortSignal.timeout(STOP_LIMIT_MS);
      while (!limit.aborted && isAlive(pid)) await pause(POLL_MS);
      await releaseLock(dir);
    },
  };
}

function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // It has already ended.
  }
}

async function untilItAnswers(url: string, child: ChildProcess): Promise<boolean> {
  const limit = AbortSignal.timeout(START_LIMIT_MS);
  while (!limit.aborted && child.exitCode === null && child.signalCode === null) {
    if (await answers(url)) return true;
    await pause(POLL_MS);
  }
  return false;
}

/** Whether the Redis that knows our password answers PONG: another one on this port refuses the password. */
async function answers(url: string): Promise<boolean> {
  const { port, password } = new URL(url);
  const socket = createConnection({ host: '127.0.0.1', port: Number(port) });
  socket.setTimeout(2_000, () => socket.destroy());
  socket.setEncoding('utf8');
  let text = '';
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (text.split('\r\n').length > 2) socket.destroy();
  });
  socket.on('error', () => {});
  socket.write(`AUTH ${password}\r\nPING\r\n`);
  await new Promise((done) => socket.once('close', done));
  return text.startsWith('+OK\r\n+PONG');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('A listening socket has no port.');
  return address.port;
}
