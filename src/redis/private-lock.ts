/** The lock file of a folder's private Redis: names the service's process, the Redis process and its URL.
 *  It must never let two running services own one folder. */
import { createHash } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
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
  return lockIn(await textOf(join(dir, FILE)));
}

function textOf(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch(() => null);
}

function lockIn(text: string | null): RedisLock | null {
  try {
    return JSON.parse(text ?? 'null') as RedisLock | null;
  } catch {
    return null;
  }
}

/** Takes the folder for this process; returns a dead owner's lock. Throws `PrivateRedisFailure` when the owner is alive. */
export async function takeLock(dir: string): Promise<RedisLock | null> {
  const file = join(dir, FILE);
  if (await create(file, { ...thisProcess(), url: null, redisPid: null })) return null;
  const text = (await textOf(file)) ?? '';
  refuseHeld(dir, text);
  await succeed(dir, text);
  return lockIn(text);
}

/** As many may die in the moment between their claim and their lock. */
const MOST_CLAIMS = 16;

/**
 * Only one process can create the claim on a dead owner's lock, whatever the others have read. Removing the lock and
 * creating it anew would let two of them pass: the second removes what the first has just created.
 */
async function succeed(dir: string, text: string): Promise<void> {
  const { url = null, redisPid = null } = lockIn(text) ?? {};
  // With the Redis: if this process is killed before it has taken it over, the next one finds it.
  const mine: RedisLock = { ...thisProcess(), url, redisPid };
  const claims = await deadClaims(dir, text);
  const claim = claims.at(-1) ?? '';
  if (!(await create(claim, mine))) refuse(dir, await textOf(claim));
  // Another one has succeeded, and removed its claim, since the text was read.
  if ((await textOf(join(dir, FILE))) !== text) {
    await rm(claim, { force: true });
    refuse(dir, await textOf(join(dir, FILE)));
  }
  await replace(dir, mine);
  for (const used of claims) await rm(used, { force: true });
}

/** The files of the claims on this lock: those of processes that died with one, and the one that is free. */
async function deadClaims(dir: string, text: string): Promise<readonly string[]> {
  const claims: string[] = [];
  let last: string | null = text;
  while (last !== null && claims.length < MOST_CLAIMS) {
    refuseHeld(dir, last);
    const claim = join(dir, `${FILE}.${createHash('sha256').update(last).digest('hex').slice(0, 32)}`);
    claims.push(claim);
    last = await textOf(claim);
  }
  return claims;
}

/** Throws where this process does not own the folder. */
export async function writeLock(dir: string, lock: RedisLock): Promise<void> {
  const text = await textOf(join(dir, FILE));
  if (!isMine(lockIn(text))) refuse(dir, text);
  await replace(dir, lock);
}

/** Leaves the lock of another owner. */
export async function releaseLock(dir: string): Promise<void> {
  if (isMine(await readLock(dir))) await rm(join(dir, FILE), { force: true });
}

async function replace(dir: string, lock: RedisLock): Promise<void> {
  const temporary = await written(join(dir, FILE), lock);
  await rename(temporary, join(dir, FILE));
}

/** False: there is such a file. It has its whole content at once: a lock that is half written looks like a dead owner's. */
async function create(file: string, lock: RedisLock): Promise<boolean> {
  const temporary = await written(file, lock);
  try {
    await link(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    return await createWithoutLink(file, lock);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function written(file: string, lock: RedisLock): Promise<string> {
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, JSON.stringify(lock), { mode: 0o600 });
  return temporary;
}

/** Some file systems have no links. */
async function createWithoutLink(file: string, lock: RedisLock): Promise<boolean> {
  try {
    await writeFile(file, JSON.stringify(lock), { mode: 0o600, flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

export function thisProcess(): Pick<RedisLock, 'pid' | 'startedAt'> {
  return { pid: process.pid, startedAt: performance.timeOrigin };
}

function isMine(lock: RedisLock | null): boolean {
  return lock?.pid === process.pid && lock.startedAt === performance.timeOrigin;
}

function isHeld(lock: RedisLock): boolean {
  return lock.pid === process.pid ? isMine(lock) : isAlive(lock.pid);
}

function refuseHeld(dir: string, text: string): void {
  const lock = lockIn(text);
  if (lock !== null && isHeld(lock)) throw owned(dir, lock);
}

function refuse(dir: string, text: string | null): never {
  throw owned(dir, lockIn(text));
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
