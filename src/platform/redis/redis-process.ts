/** The redis-server process of a folder: `redis.conf` has its address and password, `redis.pid` its process.
 *  It listens on the loopback interface only, and gets nothing of the environment but the PATH. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
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
  /** Port of a new one. Default: a free one. */
  readonly port?: number | undefined;
  /** How long it may be silent, or take to end, milliseconds. Default: 15 s, and 10 s. */
  readonly limitMs?: number;
}

export interface RedisProcess {
  readonly pid: number;
  /** For example `signal SIGKILL`; null: it runs. */
  howItEnded(): Promise<string | null>;
}

export function logOf(dir: string): string {
  return join(dir, 'redis.log');
}

export function configOf(dir: string): string {
  return join(dir, 'redis.conf');
}

function pidFileOf(dir: string): string {
  return join(dir, 'redis.pid');
}

/** The address of the last start, with its password; null: there was none. */
export async function configuredUrl(dir: string): Promise<string | null> {
  const config = await readFile(configOf(dir), 'utf8').catch(() => '');
  const { port, password } = /^port (?<port>\d+)\nrequirepass (?<password>\w+)$/m.exec(config)?.groups ?? {};
  return port === undefined ? null : `redis://:${password}@127.0.0.1:${port}`;
}

/** The Redis of this folder, whichever process started it; null: none runs. */
export async function runningRedis(dir: string, url: string): Promise<RedisProcess | null> {
  const pid = Number(await readFile(pidFileOf(dir), 'utf8').catch(() => ''));
  const isRunning = async (): Promise<boolean> =>
    isAlive(pid) && isRedisCommand(await commandOf(pid), dir, url);
  // 0 and negative ones name groups of processes, and 1 the system.
  if (!Number.isSafeInteger(pid) || pid <= 1 || !(await isRunning())) return null;
  return { pid, howItEnded: async () => ((await isRunning()) ? null : 'it was started by another process') };
}

const REDIS_PROGRAM = /(?:redis|valkey|keydb|server)[-\d.]*$/;

/** A pid alone is not enough: the system uses it again. Redis replaces its arguments with its address after it has read them. */
export function isRedisCommand(command: string, dir: string, url: string): boolean {
  return [configOf(dir), new URL(url).host].some((word) => {
    const [program = '', ...rest] = `${command} `.split(` ${word} `);
    return rest.length > 0 && REDIS_PROGRAM.test(program);
  });
}

const PS_LIMIT_MS = 5_000;

/** The command line, with one space between its words; empty: it has ended. */
async function commandOf(pid: number): Promise<string> {
  const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  if (words !== null) return words.replaceAll('\0', ' ');
  const options = { env: { PATH: '/bin:/usr/bin' }, timeout: PS_LIMIT_MS };
  return new Promise((done) => {
    execFile('ps', ['-ww', '-o', 'command=', '-p', String(pid)], options, (_, text) => done(text.trim()));
  });
}

export interface RunningRedis {
  readonly url: string;
  readonly redis: RedisProcess;
}

const START_ATTEMPTS = 3;

/** Starts one with a password of its own. null: it does not start. Throws `PrivateRedisFailure` where there is no program. */
export async function startNewRedis(dir: string, launch: Launch): Promise<RunningRedis | null> {
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt += 1) {
    // Another program may take the port before Redis does.
    const url = `redis://:${randomBytes(24).toString('hex')}@127.0.0.1:${launch.port ?? (await freeLocalPort())}`;
    const redis = await startRedis(dir, url, launch);
    if (redis !== null) return { url, redis };
  }
  return null;
}

/** null: it does not answer in time, and was ended. Throws `PrivateRedisFailure` where there is no program. */
export async function startRedis(
  dir: string,
  url: string,
  launch: Launch,
  interrupt?: AbortSignal,
): Promise<RedisProcess | null> {
  await writeFile(configOf(dir), redisConfig(dir, new URL(url)), { mode: 0o600 });
  const child = spawnRedis(dir, launch);
  const howItEnded = async (): Promise<string | null> => endOf(child);
  const redis: RedisProcess = { pid: child.pid ?? 0, howItEnded };
  if ((await untilItWorks(redis, url, { ...launch, interrupt })) === 'works') return redis;
  child.kill('SIGKILL');
  while (endOf(child) === null) await pause(POLL_MS);
  return null;
}

/** `$`: where `sudo` goes. */
const LINUX_INSTALLS =
  '`$apt-get update && $apt-get install -y redis-server` (Debian 12, Ubuntu 24.04 or newer), ' +
  '`$dnf install -y valkey` and `export REDIS_SERVER=valkey-server` (Fedora), `$apk add redis` (Alpine)';
const IN_CONTAINER =
  '`docker run --detach --publish 127.0.0.1:6379:6379 redis:7` and `export REDIS_URL=redis://127.0.0.1:6379`';

export interface Machine {
  readonly platform: string;
  /** No `sudo` is needed, nor installed in most images. */
  readonly isRoot: boolean;
  /** A container has no `docker`. */
  readonly isContainer: boolean;
}

/** Commands that install Redis on a machine, or run it in a container beside it. */
export function installation({ platform, isRoot, isContainer }: Machine): string {
  const linux = LINUX_INSTALLS.replaceAll('$', isRoot ? '' : 'sudo ');
  if (isContainer)
    return `Type ${linux}; or set REDIS_URL to a Redis 7.0 or newer, such as a container \`redis:7\` of the same network. Then start this again.`;
  const here =
    platform === 'darwin'
      ? '`brew install redis`'
      : platform === 'win32'
        ? `\`wsl --install\`, and in its shell ${linux}`
        : linux;
  return `Type ${here}; or ${IN_CONTAINER}. Then start this again.`;
}

/** Files of Docker, of Podman and of a pod. */
const MARKS_OF_CONTAINERS = ['/.dockerenv', '/run/.containerenv', '/run/secrets/kubernetes.io'];

function thisMachine(): Machine {
  return {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    isContainer: MARKS_OF_CONTAINERS.some((path) => existsSync(path)),
  };
}

/** In its own process group: an interrupt from the keyboard reaches only the service, which stops its Redis last. */
function spawnRedis(dir: string, { program = 'redis-server', path }: Launch): ChildProcess {
  // Every process of this user can read the environment that it is started with.
  const child = spawn(program, [configOf(dir)], { detached: true, stdio: 'ignore', env: { PATH: path } });
  child.on('error', () => {});
  if (child.pid === undefined)
    throw new PrivateRedisFailure({
      what: 'redis-server is not installed, and REDIS_URL is not set.',
      how: installation(thisMachine()),
    });
  // Redis writes the same later. If this process is killed before that, the next start finds this Redis and starts no second one.
  writeFileSync(pidFileOf(dir), `${child.pid}\n`);
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
    'lazyfree-lazy-expire yes',
    'daemonize no',
    '',
  ].join('\n');
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
  while ((await redis.howItEnded()) === null) {
    const reply = await replyAt(url);
    // Another program may answer at the port of a Redis that has just failed to listen there.
    if (isWorking(reply) && (await redis.howItEnded()) === null) return 'works';
    if (interrupt?.aborted === true || (limit.aborted && !reply.includes('\r\n-LOADING '))) return 'silent';
    await pause(POLL_MS);
  }
  return 'ended';
}

/** Whether it knows our password and works. */
export async function isAnswering(url: string): Promise<boolean> {
  return isWorking(await replyAt(url));
}

function isWorking(reply: string): boolean {
  return reply.startsWith('+OK\r\n+PONG\r\n');
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
  socket.write(`AUTH ${password}\r\nPING\r\nQUIT\r\n`);
  await new Promise((done) => socket.once('close', done));
  return text;
}

export async function freeLocalPort(): Promise<number> {
  const port = await portFrom(0);
  if (port === null) throw new Error('The system has no free port.');
  return port;
}

/** Whether some program listens at the port of this address. */
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
export async function endRedis(redis: RedisProcess, limitMs = STOP_LIMIT_MS): Promise<boolean> {
  if ((await redis.howItEnded()) !== null) return true;
  try {
    process.kill(redis.pid, 'SIGTERM');
  } catch {
    // It has just ended.
  }
  const limit = AbortSignal.timeout(limitMs);
  while ((await redis.howItEnded()) === null) {
    if (limit.aborted) return false;
    await pause(POLL_MS);
  }
  return true;
}
