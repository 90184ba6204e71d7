/** A folder's private Redis, under `.adjutant/redis`: starts when no Redis is configured, stops with the service.
 *  It must never be shared by two services, nor be started twice on one folder. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
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
import { configOf, logOf, ownRedisPid } from './redis-identity.ts';
import { keepRedis, type KeeperOptions, type RedisKeeper } from './redis-keeper.ts';
import {
  endRedisProcess,
  foundProcess,
  freeLocalPort,
  isAnswering,
  type RedisProcess,
  startRedisProcess,
  untilItWorks,
} from './redis-process.ts';

const START_ATTEMPTS = 3;

export interface PrivateRedis {
  readonly url: string;
  /** Leaves where the service listens, for `localServiceUrl`. */
  noteService(serviceUrl: string): Promise<void>;
  stop(): Promise<void>;
}

export type PrivateRedisOptions = Pick<KeeperOptions, 'program' | 'path' | 'limitMs' | 'pausesMs' | 'onNews'>;

/**
 * Finds the private Redis that `adjutant up` or `npm start` runs in a folder.
 * @param folder Folder of the installation.
 * @returns Its URL with password; null: none is running.
 * @example
 * ```ts
 * import { createDirectClient, privateRedisUrl } from 'adjutant/queue';
 * const redisUrl = await privateRedisUrl('.');
 * if (redisUrl !== null) await createDirectClient({ redisUrl });
 * ```
 */
export async function privateRedisUrl(folder: string): Promise<string | null> {
  const dir = redisFolder(folder);
  const { url, redisPid } = (await readLock(dir)) ?? {};
  if (typeof url !== 'string' || !URL.canParse(url)) return null;
  const pid = await ownRedisPid(dir, url, redisPid);
  return pid !== null && (await isAnswering(pid, url)) ? url : null;
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
    const { url, first } = (await adopt(dir, left, options)) ?? (await start(dir, options));
    return await handle(dir, url, first, options);
  } catch (error) {
    if (error instanceof SilentRedis && left !== null) await writeLock(dir, left);
    else await releaseLock(dir);
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

/** A second one on the folder would write to the same file: what the first one acknowledges would be lost. */
class SilentRedis extends PrivateRedisFailure {
  constructor(dir: string, pid: number) {
    super({
      what: `The private Redis of this folder (process ${pid}) runs and does not answer.`,
      how: `Wait until it does, or end it (\`kill ${pid}\`, then \`kill -9 ${pid}\`); then start again. Its log: ${logOf(dir)}.`,
    });
  }
}

/** null: none runs. Throws `PrivateRedisFailure` where one runs and does not answer. */
async function adopt(
  dir: string,
  left: RedisLock | null,
  options: PrivateRedisOptions,
): Promise<Started | null> {
  const url = left?.url ?? (await configuredUrl(dir));
  const pid = url === null || !URL.canParse(url) ? null : await ownRedisPid(dir, url, left?.redisPid);
  if (url === null || pid === null) return null;
  const first = foundProcess(pid, dir, url);
  if (!(await isAnswering(pid, url))) options.onNews({ says: waitsText(pid), fix: null });
  const state = await untilItWorks(first, url, options);
  if (state === 'silent') throw new SilentRedis(dir, pid);
  return state === 'works' ? { url, first } : null;
}

function waitsText(pid: number): string {
  return `The private Redis of this folder (process ${pid}) runs and does not answer yet: this start waits for it.`;
}

/** As the last start wrote it: the lock may have been removed by hand while its Redis runs. */
async function configuredUrl(dir: string): Promise<string | null> {
  const config = await readFile(configOf(dir), 'utf8').catch(() => '');
  const { port, password } = /^port (?<port>\d+)\nrequirepass (?<password>\w+)$/m.exec(config)?.groups ?? {};
  return port === undefined ? null : `redis://:${password}@127.0.0.1:${port}`;
}

async function start(dir: string, options: PrivateRedisOptions): Promise<Started> {
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt += 1) {
    const url = `redis://:${randomBytes(24).toString('hex')}@127.0.0.1:${await freeLocalPort()}`;
    const lock: RedisLock = { ...thisProcess(), url, redisPid: null };
    // Before it starts, and again with its pid: if this process is killed now, the next one finds what it started.
    await writeLock(dir, lock);
    const onSpawned = (redisPid: number): Promise<void> => writeLock(dir, { ...lock, redisPid });
    const first = await startRedisProcess(dir, url, { ...options, onSpawned });
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
  await written.catch(async (error: unknown) => {
    await endRedisProcess(first);
    throw error;
  });
  const onSpawned = (redisPid: number): Promise<void> => note({ redisPid });
  const keeper = keepRedis({ ...options, dir, url, first, onSpawned });
  return {
    url,
    noteService: (serviceUrl) => note({ serviceUrl }),
    stop: () => stopRedis(dir, keeper, options),
  };
}

/** The lock stays with a Redis that goes on: the next start waits for that one, and starts no second one. */
async function stopRedis(dir: string, keeper: RedisKeeper, { onNews }: PrivateRedisOptions): Promise<void> {
  const pid = await keeper.stop();
  if (pid === null) return releaseLock(dir);
  onNews({
    says: `The private Redis (process ${pid}) does not end: it goes on without this service.`,
    fix: `Nothing acknowledged is lost: the next start in this folder uses it, or waits for its end. Its log: ${logOf(dir)}`,
  });
}
