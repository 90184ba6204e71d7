/** The lock file of a folder's private Redis: names the service's process, and where that one listens.
 *  It never lets two running services own one folder. */
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

interface RedisLock {
  /** The service's process. */
  readonly pid: number;
  /** When it started: in a container every service has the same pid. */
  readonly startedAt: number;
  /** Where the service listens; absent until it does. */
  readonly serviceUrl?: string;
}

const FILE = 'owner.json';
const MINE: RedisLock = { pid: process.pid, startedAt: performance.timeOrigin };

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

/**
 * Takes the folder for this process. Throws `PrivateRedisFailure` when the owner is alive.
 *
 * Only one process can create the claim on a dead owner's lock, whatever the others have read. Removing the lock and
 * creating it anew would let two of them pass: the second removes what the first has just created.
 */
export async function takeLock(dir: string): Promise<void> {
  const file = join(dir, FILE);
  if (await create(file, MINE)) return;
  const text = (await textOf(file)) ?? '';
  const claims = await deadClaims(dir, text);
  const claim = claims.at(-1) ?? '';
  if (!(await create(claim, MINE))) refuse(dir, await textOf(claim));
  const now = await textOf(file);
  if (now !== text) {
    // Another process has succeeded, and removed its claim, since the text was read.
    await rm(claim, { force: true });
    refuse(dir, now);
  }
  await replace(file, MINE);
  for (const used of claims) await rm(used, { force: true });
}

/** As many may die in the moment between their claim and their lock. */
const MOST_CLAIMS = 16;

/** The files of the claims on this lock: those of processes that died with one, and the one that is free. */
async function deadClaims(dir: string, text: string): Promise<readonly string[]> {
  const claims: string[] = [];
  let last: string | null = text;
  while (last !== null && claims.length < MOST_CLAIMS) {
    const lock = lockIn(last);
    if (lock !== null && isHeld(lock)) refuse(dir, last);
    const claim = join(dir, `${FILE}.${createHash('sha256').update(last).digest('hex').slice(0, 32)}`);
    claims.push(claim);
    last = await textOf(claim);
  }
  return claims;
}

/** Notes where this service listens. Throws where this process does not own the folder. */
export async function writeLock(dir: string, serviceUrl: string): Promise<void> {
  const text = await textOf(join(dir, FILE));
  if (!isMine(lockIn(text))) refuse(dir, text);
  await replace(join(dir, FILE), { ...MINE, serviceUrl });
}

/** Leaves the lock of another owner. */
export async function releaseLock(dir: string): Promise<void> {
  if (isMine(await readLock(dir))) await rm(join(dir, FILE), { force: true });
}

async function replace(file: string, lock: RedisLock): Promise<void> {
  await rename(await written(file, lock), file);
}

/** False: there is such a file. It has its whole content at once: a lock that is half written seems to be a dead owner's. */
async function create(file: string, lock: RedisLock): Promise<boolean> {
  const temporary = await written(file, lock);
  const isThere = (error: NodeJS.ErrnoException): boolean => error.code === 'EEXIST';
  try {
    await link(temporary, file).catch(async (error: NodeJS.ErrnoException) => {
      if (isThere(error)) throw error;
      // Some file systems have no links.
      await writeFile(file, JSON.stringify(lock), { mode: 0o600, flag: 'wx' });
    });
    return true;
  } catch (error) {
    if (isThere(error as NodeJS.ErrnoException)) return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function written(file: string, lock: RedisLock): Promise<string> {
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, JSON.stringify(lock), { mode: 0o600 });
  return temporary;
}

function isMine(lock: RedisLock | null): boolean {
  return lock?.pid === MINE.pid && lock.startedAt === MINE.startedAt;
}

function isHeld(lock: RedisLock): boolean {
  return lock.pid === process.pid ? isMine(lock) : isAlive(lock.pid);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function refuse(dir: string, text: string | null): never {
  const { pid = 0, serviceUrl } = lockIn(text) ?? {};
  const where =
    typeof serviceUrl === 'string' && URL.canParse(serviceUrl) ? ` at ${new URL(serviceUrl).origin}` : '';
  throw new PrivateRedisFailure({
    what: `Adjutant already runs in this folder (process ${pid}).`,
    how: `Use it${where}, stop it, or start this one in another folder. (If that process is something else, remove ${join(dir, FILE)}.)`,
  });
}
