/** The lock file of a folder's private Redis: names the service's process, the Redis process and its URL.
 *  It must never let two running services own one folder. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Why there is no private Redis, and what to do. */
export class PrivateRedisFailure extends Error {
  override readonly name = 'PrivateRedisFailure';
  readonly how: string;

  constructor({ what, how }: { what: string; how: string }) {
    super(what);
    this.how = how;
  }
}

export interface RedisLock {
  /** The service's process. */
  readonly pid: number;
  /** When it started: in a container every service has the same pid. */
  readonly startedAt: number;
  /** With its password; null while Redis is being started. */
  readonly url: string | null;
  readonly redisPid: number | null;
  /** Where the service listens; absent until it does. */
  readonly serviceUrl?: string;
}

const FILE = 'owner.json';

/** The content of the file; null when there is none, or it is unreadable. */
export async function readLock(dir: string): Promise<RedisLock | null> {
  const text = await readFile(join(dir, FILE), 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return JSON.parse(text) as RedisLock;
  } catch {
    return null;
  }
}

/** Takes the folder for this process; returns a dead owner's lock. Throws `PrivateRedisFailure` when the owner is alive. */
export async function takeLock(dir: string): Promise<RedisLock | null> {
  const mine: RedisLock = { ...thisProcess(), url: null, redisPid: null };
  if (await create(dir, mine)) return null;
  const left = await readLock(dir);
  if (left !== null && isHeld(left)) throw owned(dir, left);
  await rm(join(dir, FILE), { force: true });
  // With the address: if this process is killed before it has taken the Redis over, the next one finds it.
  const taken = { ...mine, url: left?.url ?? null };
  if (!(await create(dir, taken))) throw owned(dir, await readLock(dir));
  return left;
}

export async function writeLock(dir: string, lock: RedisLock): Promise<void> {
  const temporary = join(dir, `${FILE}.${process.pid}`);
  await writeFile(temporary, JSON.stringify(lock), { mode: 0o600 });
  await rename(temporary, join(dir, FILE));
}

export async function releaseLock(dir: string): Promise<void> {
  await rm(join(dir, FILE), { force: true });
}

async function create(dir: string, lock: RedisLock): Promise<boolean> {
  try {
    await writeFile(join(dir, FILE), JSON.stringify(lock), { mode: 0o600, flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

export function thisProcess(): Pick<RedisLock, 'pid' | 'startedAt'> {
  return { pid: process.pid, startedAt: performance.timeOrigin };
}

function isHeld({ pid, startedAt }: RedisLock): boolean {
  return pid === process.pid ? startedAt === performance.timeOrigin : isAlive(pid);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function owned(dir: string, owner: Pick<RedisLock, 'pid' | 'serviceUrl'> | null): PrivateRedisFailure {
  const { pid = 0, serviceUrl } = owner ?? {};
  const where =
    typeof serviceUrl === 'string' && URL.canParse(serviceUrl) ? ` at ${new URL(serviceUrl).origin}` : '';
  return new PrivateRedisFailure({
    what: `Adjutant already runs in this folder (process ${pid}).`,
    how: `Use it${where}, stop it, or start this one in another folder. (If that process is something else, remove ${join(dir, FILE)}.)`,
  });
}
