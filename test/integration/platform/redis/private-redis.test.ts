/** The private Redis of a folder ends while its service runs: it comes back at its address, or a person reads why not.
 *  It must not be left running: each test stops it. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive } from '../../../../src/platform/redis/private-lock.ts';
import {
  localServiceUrl,
  privateRedisLog,
  privateRedisUrl,
  type PrivateRedis,
  type RedisNotice,
  startPrivateRedis,
} from '../../../../src/platform/redis/private-redis.ts';
import { isRedisCommand } from '../../../../src/platform/redis/redis-process.ts';
import { untilHolds } from '../../../support/eventually.ts';
import { freePort, spawnProcess } from '../../../support/process.ts';

let folder: string;
let notices: RedisNotice[];
let redis: PrivateRedis;

/** With a program that refuses while the file `broken` is there. */
async function start(pausesMs: readonly number[], limitMs = 15_000, port?: number): Promise<void> {
  const program = join(folder, 'redis');
  const script = `#!/bin/sh\nif [ -e '${folder}/broken' ]; then exit 3; fi\nexec redis-server "$@"\n`;
  await writeFile(program, script, { mode: 0o755 });
  const onNotice = (one: RedisNotice): void => void notices.push(one);
  redis = await startPrivateRedis(folder, {
    program,
    path: process.env['PATH'],
    pausesMs,
    limitMs,
    port,
    onNotice,
  });
}

async function pidOf(): Promise<number> {
  return Number(await readFile(join(folder, '.adjutant/redis/redis.pid'), 'utf8'));
}

async function kill(): Promise<void> {
  process.kill(await pidOf(), 'SIGKILL');
}

async function untilNotices(count: number): Promise<void> {
  await untilHolds(() => expect(notices.length).toBeGreaterThanOrEqual(count));
}

/** Each with a connection of its own. */
async function ask<T>(question: (connection: Redis) => Promise<T>): Promise<T> {
  const connection = new Redis(redis.url);
  try {
    return await question(connection);
  } finally {
    connection.disconnect();
  }
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'adjutant-private-'));
  notices = [];
});

afterEach(async () => {
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Where the service's own lock is. */
const lockOf = (): string => join(folder, '.adjutant/redis/owner.json');

test('one that is killed comes back at its address with what it had, as often as it is killed', async () => {
  await start([0, 0, 0]);
  await redis.noteService('http://127.0.0.1:1');
  await ask((connection) => connection.set('kept', 'yes'));
  for (const times of [1, 2]) {
    const pid = await pidOf();
    await kill();
    await untilNotices(times);
    expect(await pidOf()).not.toBe(pid);
    expect(await privateRedisUrl(folder)).toBe(redis.url);
    expect(await localServiceUrl(folder)).toBe('http://127.0.0.1:1');
    expect(await ask((connection) => connection.get('kept'))).toBe('yes');
  }
  const says = expect.stringMatching(
    /^The private Redis ended \(signal SIGKILL\) and runs again, after [\d.]+ s, with what it had\.$/,
  ) as string;
  expect(notices).toEqual([
    { says, fix: null },
    { says, fix: null },
  ]);
});

// Issue 37: the record of a run with 10,000 turns blocked Redis for 18 ms when it expired.
test('it has the settings of deploy/redis.conf, and frees what expires in the background', async () => {
  await start([0]);
  const lines = (await readFile('deploy/redis.conf', 'utf8')).split('\n').filter((line) => /^\w/.test(line));
  await ask(async (connection) => {
    for (const [name = '', value = ''] of lines.map((line) => line.split(' ')))
      expect(await connection.config('GET', name)).toEqual([name, value.replaceAll('"', '')]);
    await connection.hset(
      'record',
      Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [at, 'field'])),
    );
    await connection.pexpireat('record', 1);
    await untilHolds(async () => expect(await connection.info('memory')).toMatch(/^lazyfreed_objects:1\r$/m));
  });
});

test('one that does not start again is given up and reported, and one that is started by hand ends with the service', async () => {
  await start([0, 1]);
  await writeFile(join(folder, 'broken'), '');
  await kill();
  await untilNotices(1);
  const log = join(folder, '.adjutant/redis/redis.log');
  const config = join(folder, '.adjutant/redis/redis.conf');
  expect(notices).toEqual([
    {
      says: 'The private Redis keeps ending (signal SIGKILL): it is not started again. Results wait in this process; nothing else works.',
      fix: `Its log says why: ${log}. Then start it by hand: \`redis-server ${config}\`; or start this service again.`,
    },
  ]);
  expect(await privateRedisUrl(folder)).toBeNull();
  expect(await privateRedisLog(folder)).toBe(log);
  const byHand = spawnProcess('redis-server', [config]);
  await untilHolds(async () => expect(await privateRedisUrl(folder)).toBe(redis.url));
  await redis.stop();
  expect((await byHand.exited).code).toBe(0);
});

test('a stop while it waits for the next try, or while it starts, ends all of it and leaves the folder free', async () => {
  for (const pausesMs of [[3_600_000], [0]]) {
    await start(pausesMs);
    const pid = await pidOf();
    await kill();
    await untilHolds(() => expect(isAlive(pid)).toBe(false));
    await redis.stop();
    expect(await privateRedisUrl(folder)).toBeNull();
    expect(existsSync(lockOf())).toBe(false);
  }
  expect(notices).toEqual([]);
});

/** The lock, as a service leaves it that was killed. */
async function leave(): Promise<void> {
  const dead = spawnProcess('true', []);
  await dead.exited;
  await writeFile(lockOf(), JSON.stringify({ pid: dead.pid, startedAt: 1 }));
}

test.each([
  ['that a killed service left', leave],
  ['whose lock was removed by hand', () => rm(lockOf())],
])('one %s is adopted', async (_, leaveIt) => {
  await start([0]);
  const [first, pid] = [redis, await pidOf()];
  await leaveIt();
  await start([0]);
  expect(redis.url).toBe(first.url);
  expect(await pidOf()).toBe(pid);
  await Promise.all([first.stop(), redis.stop()]);
});

test('one that is left and does not answer is waited for: no second one writes to its file', async () => {
  await start([0]);
  const [first, pid] = [redis, await pidOf()];
  await leave();
  for (const _ of [1, 2]) {
    process.kill(pid, 'SIGSTOP');
    await expect(start([0], 100)).rejects.toThrow(
      `The private Redis of this folder (process ${pid}) runs and does not answer.`,
    );
    process.kill(pid, 'SIGCONT');
    expect(notices.at(-1)?.says).toContain(`(process ${pid}) runs and does not answer yet: this start waits`);
  }
  await start([0]);
  expect(redis.url).toBe(first.url);
  expect(await pidOf()).toBe(pid);
  await Promise.all([first.stop(), redis.stop()]);
});

test('one that does not end goes on, and a person reads so', async () => {
  // Long enough for a start on a busy machine: the same limit holds for the stop, which waits it out.
  await start([0], 4000);
  const pid = await pidOf();
  process.kill(pid, 'SIGSTOP');
  await redis.stop();
  expect(isAlive(pid)).toBe(true);
  expect(notices[0]?.says).toContain(`(process ${pid}) does not end`);
  process.kill(pid, 'SIGCONT');
  await untilHolds(() => expect(isAlive(pid)).toBe(false));
});

test('a stop sends nothing to a pid that is no longer its Redis', async () => {
  await start([]);
  await kill();
  await untilNotices(1);
  // The system has given the pid in its file to another program.
  const other = spawnProcess('sleep', ['600']);
  await writeFile(join(folder, '.adjutant/redis/redis.pid'), String(other.pid));
  await redis.stop();
  expect(isAlive(other.pid)).toBe(true);
  await other.kill9();
});

/** Answers as a Redis that knows the password. */
async function stranger(port: number, read: string[]): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => read.push(String(chunk)));
    socket.end('+OK\r\n+PONG\r\n+OK\r\n');
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

test('a program that takes its port reads no password and is not adopted', async () => {
  await start([1_000]);
  const port = Number(new URL(redis.url).port);
  const read: string[] = [];
  const pid = await pidOf();
  await kill();
  await untilHolds(() => expect(isAlive(pid)).toBe(false));
  const server = await stranger(port, read);
  await untilNotices(1);
  expect(notices).toEqual([
    {
      says: `The private Redis ended (signal SIGKILL) and another program holds its port ${port}. Results wait in this process; nothing else works.`,
      fix: 'Start this service again: its Redis takes another port and has what it had.',
    },
  ]);
  expect(await privateRedisUrl(folder)).toBeNull();
  await redis.stop();
  expect(read).toEqual([]);
  server.close();
});

test('a process is its Redis by its command line', () => {
  const url = 'redis://:p@127.0.0.1:6390';
  const known = (command: string): boolean => isRedisCommand(command, '/a b', url);
  expect(known('/opt/my tools/redis-server /a b/redis.conf')).toBe(true);
  expect(known('redis-server 127.0.0.1:6390')).toBe(true);
  expect(known('redis-server 127.0.0.1:63901')).toBe(false);
  expect(known('redis-aof-rewrite 127.0.0.1:6390')).toBe(false);
  expect(known('tail -f /a b/redis.conf')).toBe(false);
});

/** Newcomer's finding 57: the port of `ADJUTANT_REDIS_PORT`. */
test('a private Redis has the port that was chosen', async () => {
  const port = await freePort();
  await start([], 15_000, port);
  expect(new URL(redis.url).port).toBe(String(port));
  expect(await ask((connection) => connection.ping())).toBe('PONG');
});
