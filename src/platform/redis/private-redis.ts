/** A folder's private Redis, under `.adjutant/redis`: starts when no Redis is configured, stops with the service.
 *  It is never shared by two services, nor started twice on one folder. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pause } from '../lifecycle.ts';
import { isAlive, PrivateRedisFailure, readLock, releaseLock, takeLock, writeLock } from './private-lock.ts';
import {
  configOf,
  configuredUrl,
  endRedis,
  isAnswering,
  isPortTaken,
  type Launch,
  logOf,
  type RedisProcess,
  type RunningRedis,
  runningRedis,
  startNewRedis,
  startRedis,
  untilItWorks,
} from './redis-process.ts';

/** Something that a person should read; `fix`: null when there is nothing to do. */
export interface RedisNotice {
  readonly says: string;
  readonly fix: string | null;
}

export interface PrivateRedis {
  readonly url: string;
  /** Leaves where the service listens, for `localServiceUrl`. */
  noteService(serviceUrl: string): Promise<void>;
  stop(): Promise<void>;
}

export interface PrivateRedisOptions extends Launch {
  /** Pauses before it is started again after an end of its own, milliseconds; after the last one it is given up. */
  readonly pausesMs?: readonly number[];
  readonly onNotice: (notice: RedisNotice) => void;
}

const PAUSES_MS = [100, 1_000, 3_000, 10_000, 30_000];
/** The tries begin anew for a Redis that lived this long. */
const SOUND_AFTER_MS = 60_000;
const LOOK_MS = 250;

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
  const url = await configuredUrl(dir);
  if (url === null || (await runningRedis(dir, url)) === null) return null;
  return (await isAnswering(url)) ? url : null;
}

/** The log of the private Redis of a service that runs in `folder`; null: there is no such service. */
export async function privateRedisLog(folder: string): Promise<string | null> {
  const dir = redisFolder(folder);
  const { pid } = (await readLock(dir)) ?? {};
  return typeof pid === 'number' && isAlive(pid) ? logOf(dir) : null;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * The URL of the service that runs in `folder` with a private Redis; null: there is none. Only a loopback address:
 * the folder may have been copied from a stranger.
 */
export async function localServiceUrl(folder: string): Promise<string | null> {
  const { pid, serviceUrl } = (await readLock(redisFolder(folder))) ?? {};
  if (typeof serviceUrl !== 'string' || !URL.canParse(serviceUrl)) return null;
  if (typeof pid !== 'number' || !isAlive(pid)) return null;
  const { protocol, hostname, origin } = new URL(serviceUrl);
  return protocol === 'http:' && LOOPBACK.has(hostname) ? origin : null;
}

/** Starts a Redis, or adopts the one that a killed service left running. Throws `PrivateRedisFailure`. */
export async function startPrivateRedis(folder: string, options: PrivateRedisOptions): Promise<PrivateRedis> {
  const dir = redisFolder(folder);
  await makeFolder(folder, dir);
  await takeLock(dir);
  try {
    const { url, redis } = (await adopt(dir, options)) ?? (await start(dir, options));
    return keep(dir, url, redis, options);
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

/** null: none runs. A second one on the folder would write to the same file: what the first one acknowledges would be lost. */
async function adopt(dir: string, options: PrivateRedisOptions): Promise<RunningRedis | null> {
  const url = await configuredUrl(dir);
  const redis = url === null ? null : await runningRedis(dir, url);
  if (url === null || redis === null) return null;
  const which = `The private Redis of this folder (process ${redis.pid})`;
  if (!(await isAnswering(url)))
    options.onNotice({ says: `${which} runs and does not answer yet: this start waits for it.`, fix: null });
  const state = await untilItWorks(redis, url, options);
  if (state === 'silent')
    throw new PrivateRedisFailure({
      what: `${which} runs and does not answer.`,
      how: `Wait until it does, or end it (\`kill ${redis.pid}\`, then \`kill -9 ${redis.pid}\`); then start again. Its log: ${logOf(dir)}.`,
    });
  return state === 'works' ? { url, redis } : null;
}

async function start(dir: string, options: PrivateRedisOptions): Promise<RunningRedis> {
  const started = await startNewRedis(dir, options);
  if (started !== null) return started;
  throw new PrivateRedisFailure({
    what: 'The private redis-server does not start.',
    how: `Its log says why: ${logOf(dir)}. Or set REDIS_URL to a Redis that runs.`,
  });
}

function keep(dir: string, url: string, first: RedisProcess, options: PrivateRedisOptions): PrivateRedis {
  const stopping = new AbortController();
  const watching = watch(dir, url, first, options, stopping.signal);
  return {
    url,
    noteService: (serviceUrl) => writeLock(dir, serviceUrl),
    async stop() {
      stopping.abort();
      const redis = (await watching) ?? (await runningRedis(dir, url));
      // The next start finds one that goes on, and waits for it.
      if (redis !== null && !(await endRedis(redis, options.limitMs)))
        options.onNotice({
          says: `The private Redis (process ${redis.pid}) does not end: it goes on without this service.`,
          fix: `Nothing acknowledged is lost: the next start in this folder uses it, or waits for its end. Its log: ${logOf(dir)}`,
        });
      await releaseLock(dir);
    },
  };
}

/** Starts a Redis again that ended by itself, at the same address, so that every connection comes back. Resolves to the one that runs. */
async function watch(
  dir: string,
  url: string,
  first: RedisProcess,
  options: PrivateRedisOptions,
  stopping: AbortSignal,
): Promise<RedisProcess | null> {
  const { pausesMs = PAUSES_MS, onNotice } = options;
  let redis = first;
  let [startedAt, tries] = [performance.now(), 0];
  while (!stopping.aborted) {
    const how = await redis.howItEnded();
    if (how === null) {
      await pause(LOOK_MS, stopping);
      continue;
    }
    const endedAt = performance.now();
    if (endedAt - startedAt >= SOUND_AFTER_MS) tries = 0;
    let next: RedisProcess | null = null;
    for (; next === null && tries < pausesMs.length && !stopping.aborted; tries += 1) {
      await pause(pausesMs[tries] ?? 0, stopping);
      if (!stopping.aborted) next = await startAgain(dir, url, options, stopping);
    }
    if (next === null) {
      if (!stopping.aborted) onNotice(await givenUp(dir, url, how));
      return null;
    }
    [redis, startedAt] = [next, performance.now()];
    const afterS = ((startedAt - endedAt) / 1_000).toFixed(1);
    if (!stopping.aborted)
      onNotice({
        says: `The private Redis ended (${how}) and runs again, after ${afterS} s, with what it had.`,
        fix: null,
      });
  }
  return redis;
}

/** null: it does not start, or another program holds its port and must not read the password. */
async function startAgain(
  dir: string,
  url: string,
  options: PrivateRedisOptions,
  stopping: AbortSignal,
): Promise<RedisProcess | null> {
  try {
    const found = await runningRedis(dir, url);
    if (found !== null) return found;
    return (await isPortTaken(url)) ? null : await startRedis(dir, url, options, stopping);
  } catch {
    // Its program is gone, or its folder cannot be written to.
    return null;
  }
}

async function givenUp(dir: string, url: string, how: string): Promise<RedisNotice> {
  const waits = 'Results wait in this process; nothing else works.';
  if (await isPortTaken(url))
    return {
      says: `The private Redis ended (${how}) and another program holds its port ${new URL(url).port}. ${waits}`,
      fix: 'Start this service again: its Redis takes another port and has what it had.',
    };
  return {
    says: `The private Redis keeps ending (${how}): it is not started again. ${waits}`,
    fix: `Its log says why: ${logOf(dir)}. Then start it by hand: \`redis-server ${configOf(dir)}\`; or start this service again.`,
  };
}
