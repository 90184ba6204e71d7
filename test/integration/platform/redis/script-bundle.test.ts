/** Scripts that share a call, on a real Redis: each answers as if it were alone, in its order, through failures and failovers.
 *  It must never be satisfied by scripts that were sent one by one. */
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { scriptSources } from '../../../../src/store/scripts.ts';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import { BUNDLED_SCRIPTS } from '../../../../src/platform/redis/script-bundle.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis();

/** As the journal defines its own: bundled by name, and one that is not. */
const NOTE = `if ARGV[2] == 'break' then return 1 + nil end
if ARGV[2] == 'free' then redis.call('DEL', KEYS[1]) return { 'freed' } end
redis.call('RPUSH', KEYS[1], ARGV[1])
if ARGV[2] == 'nothing' then return nil end
return { 'noted', ARGV[1], redis.call('LLEN', KEYS[1]) }`;

type Note = (list: string, text: string, answer?: string) => Promise<unknown>;

/** `bundled` and `single` append to a list; `log` is what the list has. */
function open() {
  const connection = connectRedis(redis.url, 'commands') as Redis;
  connection.defineCommand('adjutant:finish', { lua: NOTE });
  connection.defineCommand('addStandardJob:9.9.9', { lua: NOTE, numberOfKeys: 1 });
  connection.defineCommand('adjutant:cancel', { lua: NOTE });
  const commands = connection as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const run = (name: string, ...args: unknown[]): Promise<unknown> =>
    commands[name]?.(...args) ?? Promise.reject();
  const bundled: Note = (list, text, answer = '') => run('adjutant:finish', 1, list, text, answer);
  /** As BullMQ calls: a list of everything. */
  const queued: Note = (list, text, answer = '') =>
    run('addStandardJob:9.9.9', [list, Buffer.from(text), answer]);
  const single: Note = (list, text, answer = '') => run('adjutant:cancel', 1, list, text, answer);
  return {
    connection,
    bundled,
    queued,
    single,
    list: `list-${randomUUID()}`,
    [Symbol.asyncDispose]: () => closeRedis(connection),
  };
}

/** Commands that ran scripts since the last look. */
async function scriptCalls(connection: Redis): Promise<number> {
  const stats = await connection.info('commandstats');
  await connection.config('RESETSTAT');
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );
}

test('the first script goes at once, the others of its turn are one command, and each has its own answer', async () => {
  await using store = open();
  const { connection, bundled, queued, list } = store;
  await scriptCalls(connection);
  const texts = Array.from({ length: 20 }, (_, index) => `text ${index} Ω`);
  const replies = await Promise.all(texts.map((text, index) => (index < 10 ? queued : bundled)(list, text)));
  expect(replies).toEqual(texts.map((text, index) => ['noted', text, index + 1]));
  // The first, then those that let something in, and those that do not.
  expect(await scriptCalls(connection)).toBe(3);
  expect(await connection.lrange(list, 0, -1)).toEqual(texts);
});

test('an argument that is absent is sent as an empty one, as BullMQ leaves its last one out', async () => {
  await using store = open();
  const { connection, bundled, list } = store;
  await scriptCalls(connection);
  const absent = [undefined, undefined, null].map((answer) => bundled(list, 'a', answer as never));
  expect(await Promise.all(absent)).toEqual([
    ['noted', 'a', 1],
    ['noted', 'a', 2],
    ['noted', 'a', 3],
  ]);
  expect(await scriptCalls(connection)).toBe(2);
});

test('one that comes alone is sent as itself', async () => {
  await using store = open();
  await scriptCalls(store.connection);
  expect(await store.bundled(store.list, 'a')).toEqual(['noted', 'a', 1]);
  expect(await scriptCalls(store.connection)).toBe(1);
  expect(await store.connection.script('EXISTS', 'f'.repeat(40))).toEqual([0]);
});

test('an answer of nothing stays nothing, and the answers after it stay theirs', async () => {
  await using store = open();
  const { bundled, list } = store;
  const replies = await Promise.all([bundled(list, 'a'), bundled(list, 'b', 'nothing'), bundled(list, 'c')]);
  expect(replies).toEqual([['noted', 'a', 1], null, ['noted', 'c', 3]]);
});

test('one that fails leaves the others as they are', async () => {
  await using store = open();
  const { connection, bundled, list } = store;
  await connection.set(`${list}-text`, 'no list');
  const [before, failed, after] = await Promise.allSettled([
    bundled(list, 'a'),
    bundled(`${list}-text`, 'b'),
    bundled(list, 'c'),
  ]);
  expect([before, after].map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(failed).toMatchObject({ status: 'rejected', reason: { name: 'ReplyError' } });
  expect(String((failed as PromiseRejectedResult).reason)).toMatch(/WRONGTYPE/);
  expect(await connection.lrange(list, 0, -1)).toEqual(['a', 'c']);
});

test('what goes alone keeps its place: other scripts, and arguments that are too large for a bundle', async () => {
  await using store = open();
  const { connection, bundled, single, queued, list } = store;
  const large = 'x'.repeat(100_000);
  const texts = ['a', 'b', large, 'c', 'd', 'e'];
  const ways = [bundled, queued, bundled, single, queued, bundled];
  await Promise.all(texts.map((text, index) => (ways[index] ?? single)(list, text)));
  expect(await connection.lrange(list, 0, -1)).toEqual(texts);
});

test('more than a bundle holds goes in several, in order', async () => {
  await using store = open();
  const { connection, bundled, list } = store;
  await scriptCalls(connection);
  const texts = Array.from({ length: 100 }, (_, index) => `${index}`);
  await Promise.all(texts.map((text) => bundled(list, text)));
  expect(await connection.lrange(list, 0, -1)).toEqual(texts);
  expect(await scriptCalls(connection)).toBe(1 + Math.ceil(99 / 24));
});

test('after Redis has forgotten its scripts, they are sent again', async () => {
  await using store = open();
  const { connection, bundled, list } = store;
  await Promise.all([bundled(list, 'a'), bundled(list, 'b')]);
  await connection.script('FLUSH');
  expect(await Promise.all([bundled(list, 'c'), bundled(list, 'd')])).toEqual([
    ['noted', 'c', 3],
    ['noted', 'd', 4],
  ]);
});

test('on a replica nothing is written, and it goes on once there is a master', async () => {
  await using store = open();
  const { connection, bundled, list } = store;
  await Promise.all([bundled(list, 'a'), bundled(list, 'b')]);
  await using other = open();
  await other.connection.call('REPLICAOF', '127.0.0.1', '1');
  const refused = new Promise((done) => connection.once('close', done));
  const waiting = Promise.all([bundled(list, 'c'), bundled(list, 'd')]);
  await refused;
  await other.connection.call('REPLICAOF', 'NO', 'ONE');
  expect(await waiting).toEqual([
    ['noted', 'c', 3],
    ['noted', 'd', 4],
  ]);
});

test('a script that breaks says so in the words of Redis, alone and beside others', async () => {
  await using store = open();
  const { bundled, list } = store;
  const breaks = (): Promise<string> =>
    bundled(list, 'a', 'break').then(String, (error: Error) => error.message);
  const alone = await breaks();
  const [beside] = await Promise.all([breaks(), bundled(list, 'b')]);
  expect(alone).toMatch(/^ERR .*arithmetic on a nil value/);
  expect(beside).toMatch(/^ERR .*arithmetic on a nil value/);
});

test('a pipeline sends the scripts that it was given, in its own call, and answers for them', async () => {
  await using store = open();
  const { connection, bundled, list } = store;
  const pipeline = connection.multi() as unknown as Record<string, (args: unknown[]) => unknown> & {
    exec(): Promise<[Error | null, unknown][]>;
  };
  pipeline['addStandardJob:9.9.9']?.([list, 'a', '']);
  pipeline['addStandardJob:9.9.9']?.([list, 'b', 'break']);
  expect(await connection.llen(list)).toBe(0);
  const [first, second] = await pipeline.exec();
  expect(first).toEqual([null, ['noted', 'a', 1]]);
  expect(String(second?.[0])).toMatch(/arithmetic/);
  expect(await bundled(list, 'c')).toEqual(['noted', 'c', 2]);
});

test('BullMQ adds many jobs at once, and hears when Redis refuses them', async () => {
  const connection = connectRedis(redis.url, 'submit') as Redis;
  const queue = new Queue(`many-${randomUUID()}`, { connection });
  const jobs = Array.from({ length: 5 }, (_, index) => ({ name: 'each', data: { index } }));
  await queue.addBulk(jobs);
  expect(await queue.getJobCounts('wait')).toEqual({ wait: 5 });
  await connection.config('SET', 'maxmemory', '1');
  const refused = await queue.addBulk(jobs).catch((error: Error) => error.message);
  await connection.config('SET', 'maxmemory', '0');
  expect(refused).toMatch(/OOM/);
  await queue.close();
  await closeRedis(connection);
});

test('without memory nothing is let in, whatever else frees some in the same turn', async () => {
  await using store = open();
  const { connection, bundled, queued, list } = store;
  await Promise.all([bundled(list, 'a'), queued(list, 'b')]);
  await connection.config('SET', 'maxmemory', '1');
  const [freed, added] = await Promise.allSettled([bundled(list, 'a', 'free'), queued(`${list}-2`, 'b')]);
  await connection.config('SET', 'maxmemory', '0');
  expect(freed).toMatchObject({ status: 'fulfilled', value: ['freed'] });
  expect(String((added as PromiseRejectedResult).reason)).toMatch(/OOM/);
});

test('what was called before the connection closes is sent', async () => {
  const { connection, bundled, list } = open();
  await connection.ping();
  const noted = bundled(list, 'last');
  await closeRedis(connection);
  expect(await noted).toEqual(['noted', 'last', 1]);
});

test('every name in the list is that of a script', () => {
  const require = createRequire(import.meta.url);
  const files = globSync('node_modules/bullmq/dist/cjs/scripts/*.js').map(
    (file) => require(resolve(file)) as object,
  );
  const names = files
    .flatMap((file) => Object.values(file))
    .map((script) => (script as { name?: string }).name);
  const known = new Set([...names, ...[...scriptSources().keys()].map((name) => `adjutant:${name}`)]);
  expect([...BUNDLED_SCRIPTS].filter((name) => !known.has(name))).toEqual([]);
});
