/** Which process is the private Redis of a folder: by the system's word on its user, its command line and its port.
 *  It must never believe what a program says over a connection: whoever holds the port can answer anything. */
import { execFile } from 'node:child_process';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './private-lock.ts';

export function logOf(dir: string): string {
  return join(dir, 'redis.log');
}

export function configOf(dir: string): string {
  return join(dir, 'redis.conf');
}

/** Written by Redis itself: names also one that a person started, or one whose service was killed before it noted it. */
export function pidFileOf(dir: string): string {
  return join(dir, 'redis.pid');
}

/** The running Redis of this folder at this address, noted by a service or in its own file; null: none runs. */
export async function ownRedisPid(dir: string, url: string, noted: unknown): Promise<number | null> {
  const inFile = Number(await readFile(pidFileOf(dir), 'utf8').catch(() => ''));
  for (const pid of [noted, inFile]) if (isPid(pid) && (await isOwnRedis(pid, dir, url))) return pid;
  return null;
}

/** 0 and negative ones name groups of processes, and 1 the system. */
function isPid(pid: unknown): pid is number {
  return Number.isSafeInteger(pid) && Number(pid) > 1;
}

/** Alive, of this user, and a Redis of this folder or address. A pid alone is not enough: the system uses it again. */
export async function isOwnRedis(pid: number, dir: string, url: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const { uid, command } = await processOf(pid);
  return uid === process.getuid?.() && isRedisCommand(command, dir, url);
}

const REDIS_PROGRAM = /(?:redis|valkey|keydb|server)[-\d.]*$/;

/** Redis replaces its arguments with its address once it has read its configuration. */
export function isRedisCommand(command: string, dir: string, url: string): boolean {
  return [configOf(dir), new URL(url).host].some((word) => {
    const [program = '', ...rest] = `${command} `.split(` ${word} `);
    return rest.length > 0 && REDIS_PROGRAM.test(program);
  });
}

interface Seen {
  readonly uid: number | null;
  /** Its words, with one space between; empty: it has ended. */
  readonly command: string;
}

async function processOf(pid: number): Promise<Seen> {
  try {
    const [{ uid }, words] = await Promise.all([
      stat(`/proc/${pid}`),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    return { uid, command: words.replaceAll('\0', ' ') };
  } catch {
    return seenByPs(await outputOf('ps', ['-ww', '-o', 'uid=', '-o', 'command=', '-p', String(pid)]));
  }
}

function seenByPs(line: string | null): Seen {
  const { uid, command } = /^\s*(?<uid>\d+)\s+(?<command>.*)/.exec(line ?? '')?.groups ?? {};
  return { uid: uid === undefined ? null : Number(uid), command: command ?? '' };
}

/** Whether this process, and no other one, listens at the port. Where the system does not say, the command line decides. */
export async function listensAt(pid: number, port: string): Promise<boolean> {
  const table = await readFile('/proc/net/tcp', 'utf8').catch(() => null);
  return table === null ? listensByLsof(pid, port) : listensByTable(pid, socketsAt(table, Number(port)));
}

/** The inodes of the sockets that listen at the port. */
function socketsAt(table: string, port: number): Set<string> {
  const place = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = table.split('\n').map((row) => row.trim().split(/\s+/));
  const listening = rows.filter(([, local = '', , state]) => local.endsWith(place) && state === '0A');
  return new Set(listening.map((columns) => columns[9] ?? ''));
}

async function listensByTable(pid: number, inodes: ReadonlySet<string>): Promise<boolean> {
  if (inodes.size === 0) return false;
  if (inodes.has('0')) return true;
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => error.code === 'EACCES');
  if (typeof names === 'boolean') return names;
  const links = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')));
  return links.some((link) => inodes.has(/^socket:\[(?<inode>\d+)\]$/.exec(link)?.groups?.['inode'] ?? '-'));
}

/** It ends with an error where nothing matches. */
async function listensByLsof(pid: number, port: string): Promise<boolean> {
  const words = ['-nP', '-a', '-p', String(pid), `-iTCP:${port}`, '-sTCP:LISTEN', '-t'];
  const found = await outputOf('lsof', words);
  return found === null || found.trim() === String(pid);
}

const LOOK_LIMIT_MS = 5_000;

/** What a program of the system printed; null: there is no such program. */
function outputOf(program: string, words: readonly string[]): Promise<string | null> {
  const options = { env: { PATH: '/bin:/usr/bin:/sbin:/usr/sbin' }, timeout: LOOK_LIMIT_MS };
  return new Promise((done) => {
    execFile(program, words, options, (error, text) => done(error?.code === 'ENOENT' ? null : text));
  });
}
