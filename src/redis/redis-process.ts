/** One redis-server process of a folder: its configuration, its start, whether it answers, its end.
 *  It must never listen beyond this machine, nor get more of the environment than the PATH. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { pause } from '../lifecycle.ts';
import { PrivateRedisFailure } from './private-lock.ts';
import { configOf, isOwnRedis, listensAt, logOf, pidFileOf } from './redis-identity.ts';

const START_LIMIT_MS = 15_000;
const STOP_LIMIT_MS = 10_000;
const ANSWER_LIMIT_MS = 2_000;
const POLL_MS = 20;

export interface Launch {
  /** Default: `redis-server`. */
  readonly program?: string;
  /** `PATH` of the environment, which is searched for the program. */
  readonly path: string | undefined;
  /** How long it may be silent, or take to end, milliseconds. Default: 15 s, and 10 s. */
  readonly limitMs?: number;
  /** Called as soon as the process is there: if the service is killed while it starts, the next one finds it. */
  readonly onSpawned: (pid: number) => Promise<void>;
}

export interface RedisProcess {
  readonly pid: number;
  /** Of this process. */
  readonly isChild: boolean;
  /** Also when the system has given its pid to another program. */
  hasEnded(): Promise<boolean>;
  /** As in `signal SIGKILL`; null: it runs, or another process started it. */
  howItEnded(): string | null;
}

/** One that another process started. */
export function foundProcess(pid: number, dir: string, url: string): RedisProcess {
  const hasEnded = async (): Promise<boolean> => !(await isOwnRedis(pid, dir, url));
  return { pid, isChild: false, hasEnded, howItEnded: () => null };
}

function startedProcess(child: ChildProcess): RedisProcess {
  const hasEnded = async (): Promise<boolean> => !isRunning(child);
  return { pid: child.pid ?? 0, isChild: true, hasEnded, howItEnded: () => endOf(child) };
}

/** null: it does not answer in time, and was ended. Throws `PrivateRedisFailure` where there is no program. */
export async function startRedisProcess(
  dir: string,
  url: string,
  launch: Launch,
  interrupt?: AbortSignal,
): Promise<RedisProcess | null> {
  const child = await spawnRedis(dir, url, launch);
  const started = startedProcess(child);
  await launch.onSpawned(started.pid).catch(() => {});
  if ((await untilItWorks(started, url, { ...launch, interrupt })) === 'works') return started;
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
    `pidfile ${JSON.stringify(pidFileOf(dir))}`,
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

interface Patience extends Pick<Launch, 'limitMs'> {
  readonly interrupt?: AbortSignal | undefined;
}

/** While it reads its file it may take minutes: gigabytes do. `silent`: it runs and does not answer in time. */
export async function untilItWorks(
  redis: RedisProcess,
  url: string,
  { interrupt, limitMs = START_LIMIT_MS }: Patience,
): Promise<'works' | 'ended' | 'silent'> {
  const limit = AbortSignal.timeout(limitMs);
  while (!(await redis.hasEnded())) {
    const reply = await replyOf(redis.pid, url);
    if (isWorking(reply)) return 'works';
    if (interrupt?.aborted === true || (limit.aborted && !isLoading(reply))) return 'silent';
    await pause(POLL_MS);
  }
  return 'ended';
}

/** Whether this process holds the address, knows our password and works. */
export async function isAnswering(pid: number, url: string): Promise<boolean> {
  return isWorking(await replyOf(pid, url));
}

function isLoading(reply: string): boolean {
  return reply.includes('\r\n-LOADING ');
}

function isWorking(reply: string): boolean {
  return reply.startsWith('+OK\r\n+PONG\r\n');
}

const LONGEST_REPLY = 65_536;

/** Empty where another program holds the port: that one must not read the password. */
async function replyOf(pid: number, url: string): Promise<string> {
  return (await listensAt(pid, new URL(url).port)) ? replyAt(url) : '';
}

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
  socket.write(`AUTH ${password}\r\nPING\r\nQUIT\r\n`);
  await new Promise((done) => socket.once('close', done));
  return text;
}

export async function freeLocalPort(): Promise<number> {
  const port = await portFrom(0);
  if (port === null) throw new Error('The system has no free port.');
  return port;
}

/** Whether some program listens at it, or is connected from it. */
export async function isPortTaken(url: string): Promise<boolean> {
  return (await portFrom(Number(new URL(url).port))) === null;
}

/** 0: one that the system chooses. null: it is taken. */
async function portFrom(wanted: number): Promise<number | null> {
  const server = createServer().listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return null;
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  return address === null || typeof address === 'string' ? null : address.port;
}

/** False: it still runs when the time is over. Sends nothing where the process has ended: its pid may be another's. */
export async function endRedisProcess(redis: RedisProcess, limitMs = STOP_LIMIT_MS): Promise<boolean> {
  if (await redis.hasEnded()) return true;
  terminate(redis.pid);
  const limit = AbortSignal.timeout(limitMs);
  while (!(await redis.hasEnded())) {
    if (limit.aborted) return false;
    await pause(POLL_MS);
  }
  return true;
}

function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // It has already ended.
  }
}
