/** One redis-server process of a folder: its configuration, its start, whether it answers, its end.
 *  It must never listen beyond this machine, nor get more of the environment than the PATH. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { pause } from '../lifecycle.ts';
import { isAlive, PrivateRedisFailure } from './private-lock.ts';

const START_LIMIT_MS = 15_000;
const STOP_LIMIT_MS = 10_000;
const ANSWER_LIMIT_MS = 2_000;
const POLL_MS = 20;

export interface Launch {
  /** Default: `redis-server`. */
  readonly program?: string;
  /** `PATH` of the environment, which is searched for the program. */
  readonly path: string | undefined;
}

export interface RedisProcess {
  readonly pid: number;
  /** As in `signal SIGKILL`; null: it runs, or another process started it. */
  howItEnded(): string | null;
}

/** The process behind the address, as it says itself: the one that started it may have been killed before it noted it. */
export function runningProcess(pid: number): RedisProcess {
  return { pid, howItEnded: () => null };
}

export function logOf(dir: string): string {
  return join(dir, 'redis.log');
}

export function configOf(dir: string): string {
  return join(dir, 'redis.conf');
}

/** null: it does not answer in time, and was ended. Throws `PrivateRedisFailure` where there is no program. */
export async function startRedisProcess(
  dir: string,
  url: string,
  launch: Launch,
  interrupt?: AbortSignal,
): Promise<RedisProcess | null> {
  const child = await spawnRedis(dir, url, launch);
  const { pid = 0 } = child;
  if (await untilItAnswers(url, child, interrupt)) return { pid, howItEnded: () => endOf(child) };
  child.kill('SIGKILL');
  while (isRunning(child)) await pause(POLL_MS);
  return null;
}

/** In its own process group: an interrupt from the keyboard reaches only the service, which stops its Redis last. */
async function spawnRedis(
  dir: string,
  url: string,
  { program = 'redis-server', path }: Launch,
): Promise<ChildProcess> {
  await writeFile(configOf(dir), redisConfig(dir, new URL(url)), { mode: 0o600 });
  const child = spawn(program, [configOf(dir)], {
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
    `logfile ${JSON.stringify(logOf(dir))}`,
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

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function endOf({ exitCode, signalCode }: ChildProcess): string | null {
  if (signalCode !== null) return `signal ${signalCode}`;
  return exitCode === null ? null : `exit code ${exitCode}`;
}

async function untilItAnswers(url: string, child: ChildProcess, interrupt?: AbortSignal): Promise<boolean> {
  const limit = AbortSignal.timeout(START_LIMIT_MS);
  while (interrupt?.aborted !== true && isRunning(child)) {
    const reply = await replyAt(url);
    if (pidIn(reply) !== null) return true;
    if (limit.aborted && !isLoading(reply)) return false;
    await pause(POLL_MS);
  }
  return false;
}

/** As `redisPidAt`, but waits while it reads its file: gigabytes take minutes. */
export async function loadedRedisPidAt(url: string, interrupt?: AbortSignal): Promise<number | null> {
  for (;;) {
    const reply = await replyAt(url);
    if (!isLoading(reply) || interrupt?.aborted === true) return pidIn(reply);
    await pause(POLL_MS);
  }
}

function isLoading(reply: string): boolean {
  return reply.includes('\r\n-LOADING ');
}

/** The process id of the Redis that knows our password and works; null: none does. Another one on this port refuses it. */
export async function redisPidAt(url: string): Promise<number | null> {
  return pidIn(await replyAt(url));
}

function pidIn(reply: string): number | null {
  const found = /^\+OK\r\n\+PONG\r\n[^]*^process_id:(?<pid>\d+)\r$/m.exec(reply);
  return found === null ? null : Number(found.groups?.['pid']);
}

const LONGEST_REPLY = 65_536;

async function replyAt(url: string): Promise<string> {
  const { port, password } = new URL(url);
  const socket = createConnection({ host: '127.0.0.1', port: Number(port) });
  socket.setTimeout(ANSWER_LIMIT_MS, () => socket.destroy());
  socket.setEncoding('utf8');
  let text = '';
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > LONGEST_REPLY) socket.destroy();
  });
  socket.on('error', () => {});
  // A refused password leaves the rest refused, too; QUIT ends the connection in any case.
  socket.write(`AUTH ${password}\r\nPING\r\nINFO server\r\nQUIT\r\n`);
  await new Promise((done) => socket.once('close', done));
  return text;
}

export async function freeLocalPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('A listening socket has no port.');
  return address.port;
}

export async function endRedisProcess(pid: number): Promise<void> {
  terminate(pid);
  const limit = AbortSignal.timeout(STOP_LIMIT_MS);
  while (!limit.aborted && isAlive(pid)) await pause(POLL_MS);
}

function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // It has already ended.
  }
}
