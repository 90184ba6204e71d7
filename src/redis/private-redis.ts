/** A folder's private Redis, under `.adjutant/redis`: starts when no Redis is configured, stops with the service.
 *  It must never be shared by two services, nor be started twice on one folder. */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
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
import { keepRedis, type KeeperOptions } from './redis-keeper.ts';
import {
  freeLocalPort,
  loadedRedisPidAt,
  logOf,
  redisPidAt,
  type RedisProcess,
  runningProcess,
  startRedisProcess,
} from './redis-process.ts';

const START_ATTEMPTS = 3;

export interface PrivateRedis {
  readonly url: string;
  /** Leaves where the service listens, for `localServiceUrl`. */
  noteService(serviceUrl: string): Promise<void>;
  stop(): Promise<void>;
}

export type PrivateRedisOptions = Pick<KeeperOptions, 'program' | 'path' | 'pausesMs' | 'onNews'>;

/** The URL, with password, of the private Redis that an `adjutant up` (or `npm start`) runs in `folder`; null: none. */
export async function privateRedisUrl(folder: string): Promise<string | null> {
  const lock = await readLock(redisFolder(folder));
  return lock !== null && lock.url !== null && (await redisPidAt(lock.url)) !== null ? lock.url : null;
}

/** The log of the private Redis of a service that runs in `folder`; null: there is no such service. */
export async function privateRedisLog(folder: string): Promise<string | null> {
  const dir = redisFolder(folder);
  const lock = await readLock(dir);
  return typeof lock?.pid === 'number' && typeof lock.url === 'string' && isAlive(lock.pid)
    ? logOf(dir)
    : null;
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
export async function startPrivateRedis(folder: string, options: PrivateRedisOptions): Promise<PrivateRedis> {
  const dir = redisFolder(folder);
  await makeFolder(folder, dir);
  const left = await takeLock(dir);
  try {
    const { url, first } = (await adopt(left)) ?? (await start(dir, options));
    return await handle(dir, url, first, options);
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

interface Started {
  readonly url: string;
  readonly first: RedisProcess;
}

async function adopt(left: RedisLock | null): Promise<Started | null> {
  if (left === null || left.url === null) return null;
  const pid = await loadedRedisPidAt(left.url);
  return pid === null ? null : { url: left.url, first: runningProcess(pid) };
}

async function start(dir: string, options: PrivateRedisOptions): Promise<Started> {
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt += 1) {
    const url = `redis://:${randomBytes(24).toString('hex')}@127.0.0.1:${await freeLocalPort()}`;
    // Before it starts: if this process is killed now, the next one finds what it started.
    await writeLock(dir, { ...thisProcess(), url, redisPid: null });
    const first = await startRedisProcess(dir, url, options);
    if (first !== null) return { url, first };
  }
  throw new PrivateRedisFailure({
    what: 'The private redis-server does not start.',
    how: `Its log says why: ${logOf(dir)}. Or set REDIS_URL to a Redis that runs.`,
  });
}

async function handle(
  dir: string,
  url: string,
  first: RedisProcess,
  options: PrivateRedisOptions,
): Promise<PrivateRedis> {
  let lock: RedisLock = { ...thisProcess(), url, redisPid: first.pid };
  let written = writeLock(dir, lock);
  /** One after the other: they share a temporary file. */
  const note = (more: Partial<RedisLock>): Promise<void> => {
    lock = { ...lock, ...more };
    const noted = lock;
    written = written.catch(() => {}).then(() => writeLock(dir, noted));
    return written;
  };
  await written;
  const onStarted = (redisPid: number): Promise<void> => note({ redisPid });
  const keeper = keepRedis({ ...options, dir, url, first, onStarted });
  return {
    url,
    noteService: (serviceUrl) => note({ serviceUrl }),
    stop: async () => {
      await keeper.stop();
      await releaseLock(dir);
    },
  };
}
