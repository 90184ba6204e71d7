/** Which Redis is refused, and with what message.
 *  It must never refuse a server for hiding what it may hide. */
import { expect, test } from 'vitest';
import {
  type RedisFacts,
  redisFacts,
  requireFitRedis,
  unfitness,
  UnfitRedis,
} from '../../../../src/platform/redis/fitness.ts';
import type { RedisConnection } from '../../../../src/platform/redis/connection.ts';
import { installation } from '../../../../src/platform/redis/redis-process.ts';

const fit: RedisFacts = {
  version: '7.0.0',
  evictionPolicy: 'noeviction',
  appendOnly: true,
  appendFsync: 'everysec',
  mode: 'standalone',
};

/** Answers INFO and CONFIG as a server would. */
function server(info: string, config: () => Promise<unknown> = async () => ['appendfsync', 'everysec']) {
  const done = async (): Promise<number> => 0;
  return { info: async () => info, call: config, eval: done, publish: done } as unknown as RedisConnection;
}

test.each([
  { version: '7.0.0' },
  { version: '8.2.1' },
  { version: 'unknown' },
  { evictionPolicy: 'unknown' },
  { appendOnly: false, appendFsync: null },
])('%j is fit', (facts) => {
  expect(unfitness({ ...fit, ...facts })).toEqual([]);
});

test.each([
  [{ version: '6.2.14' }, /6\.2\.14 is too old: use Redis 7\.0/],
  [{ evictionPolicy: 'allkeys-lru' }, /allkeys-lru.*noeviction/],
  [{ evictionPolicy: 'volatile-ttl' }, /volatile-ttl.*noeviction/],
])('%j is not, and the remedy is named', (facts, sentence) => {
  const problems = unfitness({ ...fit, ...facts });
  expect(problems).toHaveLength(1);
  expect(new UnfitRedis(problems).message).toMatch(sentence);
});

test('all faults are reported at once', async () => {
  const refused: unknown = await requireFitRedis(
    server('redis_version:5.0.3\r\nmaxmemory_policy:allkeys-lfu\r\n'),
    'adjutant',
  ).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(UnfitRedis);
  expect((refused as UnfitRedis).problems).toHaveLength(2);
});

test('the facts are read from the server’s answers', async () => {
  const info =
    '# Server\r\nredis_version:7.4.2\r\nredis_mode:cluster\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n';
  expect(await redisFacts(server(info))).toEqual({ ...fit, version: '7.4.2', mode: 'cluster' });
});

test('a managed server that hides its settings is read as far as it reports', async () => {
  const hidden = server('redis_version:7.1.0\r\n', () => Promise.reject(new Error('ERR unknown command')));
  expect(await redisFacts(hidden)).toEqual({
    version: '7.1.0',
    evictionPolicy: 'unknown',
    appendOnly: false,
    appendFsync: null,
    mode: 'standalone',
  });
});

/** Issue 36: without a redis-server the message names what to type, on the machine where it is read. */
test.each([
  [
    'Debian, as root',
    { platform: 'linux', isRoot: true, isContainer: false },
    '`apt-get update && apt-get install -y redis-server`',
    'sudo',
  ],
  [
    'Ubuntu, as a user',
    { platform: 'linux', isRoot: false, isContainer: false },
    '`sudo apt-get update && sudo apt-get install -y redis-server`',
    'brew',
  ],
  ['macOS', { platform: 'darwin', isRoot: false, isContainer: false }, '`brew install redis`', 'apt-get'],
  [
    'a container',
    { platform: 'linux', isRoot: true, isContainer: true },
    'set REDIS_URL to a Redis 7.0 or newer',
    'docker run',
  ],
])('the installation of Redis on %s', (_, machine, names, lacks) => {
  expect(installation(machine)).toContain(names);
  expect(installation(machine)).not.toContain(lacks);
});
