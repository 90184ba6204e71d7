/** The private Redis of a folder ends while its service runs: it comes back at its address, or a person reads why not.
 *  It must not be left running: each test stops it. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isAlive } from '../../../src/redis/private-lock.ts';
import {
  privateRedisLog,
  privateRedisUrl,
  type PrivateRedis,
  startPrivateRedis,
} from '../../../src/redis/private-redis.ts';
import { isRedisCommand, listensAt } from '../../../src/redis/redis-identity.ts';
import type { RedisNews } from '../../../src/redis/redis-keeper.ts';
import { endRedisProcess, foundProcess } from '../../../src/redis/redis-process.ts';
import { spawnProcess } from '../../support/process.ts';

let folder: string;
let news: RedisNews[];
let redis: PrivateRedis;

/** With a program that refuses while the file `broken` is there. */
async function start(pausesMs: readonly number[], limitMs = 15_000): Promise<void> {
  const program = join(folder, 'redis');
  const script = `#!/bin/sh\nif [ -e '${folder}/broken' ]; then exit 3; fi\nexec redis-server "$@"\n`;
  await writeFile(program, script, { mode: 0o755 });
  const onNews = (one: RedisNews): void => void news.push(one);
  redis = await startPrivateRedis(folder, { program, path: process.env['PATH'], pausesMs, limitMs, onNews });
}

async function owner(): Promise<{ redisPid: number; url: string }> {
  const text = await readFile(join(folder, '.adjutant/redis/owner.json'), 'utf8');
  return JSON.parse(text) as { redisPid: number; url: string };
}

async function kill(): Promise<void> {
  process.kill((await owner()).redisPid, 'SIGKILL');
}

async function untilNews(count: number): Promise<void> {
  await vi.waitFor(() => expect(news.length).toBeGreaterThanOrEqual(count), { timeout: 20_000 });
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
  news = [];
});

afterEach(async () => {
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
});

test('one that is killed comes back at its address with what it had, as often as it is killed', async () => {
  await start([0, 0, 0]);
  await redis.noteService('http://127.0.0.1:1');
  await ask((connection) => connection.set('kept', 'yes'));
  for (const times of [1, 2]) {
    const { redisPid, url } = await owner();
    await kill();
    await untilNews(times);
    expect(await owner()).toMatchObject({ url, serviceUrl: 'http://127.0.0.1:1' });
    expect((await owner()).redisPid).not.toBe(redisPid);
    expect(await ask((connection) => connection.get('kept'))).toBe('yes');
  }
  const says = expect.stringMatching(
    /^The private Redis ended \(signal SIGKILL\) and runs again, after [\d.]+ s, with what it had\.$/,
  ) as string;
  expect(news).toEqual([
    { says, fix: null },
    { says, fix: null },
  ]);
});

test('one that does not start is given up after some tries, and one that is started by hand takes its place', async () => {
  await start([0, 1]);
  await writeFile(join(folder, 'broken'), '');
  await kill();
  await untilNews(2);
  const log = join(folder, '.adjutant/redis/redis.log');
  const config = join(folder, '.adjutant/redis/redis.conf');
  expect(news).toEqual([
    {
      says: `The private Redis ended (signal SIGKILL) and does not start: try 2 of 2 in 0.001 s. Its log: ${log}`,
      fix: null,
    },
    {
      says: 'The private Redis keeps ending (signal SIGKILL): it is not started again. Results wait in this process; nothing else works.',
      fix: `Its log says why: ${log}. Then start it by hand: \`redis-server ${config}\`; or start this service again.`,
    },
  ]);
  expect(await privateRedisUrl(folder)).toBeNull();
  expect(await privateRedisLog(folder)).toBe(log);
  const byHand = spawnProcess('redis-server', [config]);
  await untilNews(3);
  expect((await owner()).redisPid).toBe(byHand.pid);
  await redis.stop();
  expect((await byHand.exited).code).toBe(0);
});

test('a stop while it waits for the next try, or while it starts, ends all of it and leaves the folder free', async () => {
  await start([0, 3_600_000]);
  await writeFile(join(folder, 'broken'), '');
  await kill();
  await untilNews(1);
  await redis.stop();
  expect(existsSync(join(folder, '.adjutant/redis/owner.json'))).toBe(false);
  await rm(join(folder, 'broken'));
  await start([0]);
  const { redisPid } = await owner();
  await kill();
  await vi.waitFor(() => expect(isAlive(redisPid)).toBe(false));
  await redis.stop();
  expect(await privateRedisUrl(folder)).toBeNull();
  expect(existsSync(join(folder, '.adjutant/redis/owner.json'))).toBe(false);
  expect(news).toHaveLength(1);
});

test('one that a killed service left is adopted, whichever process was noted as it', async () => {
  await start([0]);
  const { redisPid } = await owner();
  const dead = spawnProcess('true', []);
  await dead.exited;
  // As a service leaves it that is killed between the start of its Redis and the note of it.
  const left = { ...(await owner()), pid: dead.pid, redisPid: null };
  await writeFile(join(folder, '.adjutant/redis/owner.json'), JSON.stringify(left));
  const first = redis;
  await start([0]);
  expect(redis.url).toBe(first.url);
  expect((await owner()).redisPid).toBe(redisPid);
  await Promise.all([first.stop(), redis.stop()]);
});

/** As a service leaves it that was killed. */
async function leave(more: Record<string, unknown> = {}): Promise<void> {
  const dead = spawnProcess('true', []);
  await dead.exited;
  const left = { ...(await owner()), pid: dead.pid, ...more };
  await writeFile(join(folder, '.adjutant/redis/owner.json'), JSON.stringify(left));
}

test('one that is left and does not answer is waited for: no second one writes to its file', async () => {
  await start([0]);
  const first = redis;
  const { redisPid } = await owner();
  for (const more of [{}, { redisPid: null }]) {
    await leave(more);
    process.kill(redisPid, 'SIGSTOP');
    await expect(start([0], 100)).rejects.toThrow(
      `The private Redis of this folder (process ${redisPid}) runs and does not answer.`,
    );
    process.kill(redisPid, 'SIGCONT');
    expect(news.at(-1)?.says).toContain(
      `(process ${redisPid}) runs and does not answer yet: this start waits`,
    );
  }
  // Its lock is removed by hand, as the refusal of a second service offers.
  await rm(join(folder, '.adjutant/redis/owner.json'));
  await start([0]);
  expect(redis.url).toBe(first.url);
  expect((await owner()).redisPid).toBe(redisPid);
  await Promise.all([first.stop(), redis.stop()]);
});

test('one that does not end keeps the folder, and a person reads so', async () => {
  // Long enough for a start on a busy machine: the same limit holds for the stop, which waits it out.
  await start([0], 4000);
  const { redisPid } = await owner();
  process.kill(redisPid, 'SIGSTOP');
  await redis.stop();
  expect(await owner()).toMatchObject({ redisPid });
  expect(news[0]?.says).toContain(`(process ${redisPid}) does not end`);
  process.kill(redisPid, 'SIGCONT');
  await vi.waitFor(() => expect(isAlive(redisPid)).toBe(false));
});

test('a stop sends nothing to a pid that is no longer its Redis', async () => {
  await start([0]);
  const { redisPid, url } = await owner();
  await writeFile(join(folder, 'broken'), '');
  await kill();
  await untilNews(1);
  const sent = vi.spyOn(process, 'kill');
  await redis.stop();
  expect(sent.mock.calls.filter(([, signal]) => signal !== 0)).toEqual([]);
  sent.mockRestore();
  const other = spawnProcess('sleep', ['600']);
  const dir = join(folder, '.adjutant/redis');
  expect(await endRedisProcess(foundProcess(other.pid, dir, url))).toBe(true);
  expect(isAlive(other.pid)).toBe(true);
  expect(redisPid).not.toBe(other.pid);
  await other.kill9();
});

/** Answers as a Redis that knows the password, and says it is another process. */
async function stranger(port: number, pid: number, read: string[]): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => read.push(String(chunk)));
    socket.end(`+OK\r\n+PONG\r\n$20\r\nprocess_id:${pid}\r\n\r\n+OK\r\n`);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

test('a program that takes its port reads no password, is not adopted and names no process to end', async () => {
  await start([0, 2_000, 0]);
  const port = Number(new URL(redis.url).port);
  const other = spawnProcess('sleep', ['600']);
  const read: string[] = [];
  await writeFile(join(folder, 'broken'), '');
  await kill();
  await untilNews(1);
  const server = await stranger(port, other.pid, read);
  await untilNews(3);
  expect(news[1]?.says).toContain(`and another program holds its port ${port}: try 3 of 3`);
  expect(news[2]?.says).toContain(`and another program holds its port ${port}. Results wait`);
  expect(news[2]?.fix).toBe('Start this service again: its Redis takes another port and has what it had.');
  expect(await privateRedisUrl(folder)).toBeNull();
  await redis.stop();
  expect(read).toEqual([]);
  expect(isAlive(other.pid)).toBe(true);
  await other.kill9();
  server.close();
});

test('a process is its Redis by its command line, and holds the port by the word of the system', async () => {
  const url = 'redis://:p@127.0.0.1:6390';
  const known = (command: string): boolean => isRedisCommand(command, '/a b', url);
  expect(known('/opt/my tools/redis-server /a b/redis.conf')).toBe(true);
  expect(known('redis-server 127.0.0.1:6390')).toBe(true);
  expect(known('redis-server 127.0.0.1:63901')).toBe(false);
  expect(known('redis-aof-rewrite 127.0.0.1:6390')).toBe(false);
  expect(known('tail -f /a b/redis.conf')).toBe(false);
  await start([0]);
  const { redisPid } = await owner();
  const { port } = new URL(redis.url);
  expect(await listensAt(redisPid, port)).toBe(true);
  expect(await listensAt(process.pid, port)).toBe(false);
});
