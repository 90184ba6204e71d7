/** The Redis servers that other tests rely on: that they die, come back, and form a cluster.
 *  It must not test the product. */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { startCluster } from '../../support/redis-cluster.ts';
import { startRedis } from '../../support/redis.ts';

test('a server with an append-only file keeps what it acknowledged over kill -9', async () => {
  await using redis = await startRedis({ appendonly: true, appendfsync: 'always' });
  const client = new Redis(redis.url);
  client.on('error', () => {});
  await client.set('kept', 'yes');
  const firstPid = redis.pid;
  await redis.kill9();
  await redis.restart();
  expect(redis.pid).not.toBe(firstPid);
  expect(await client.get('kept')).toBe('yes');
  client.disconnect();
});

test('a server refuses to evict', async () => {
  await using redis = await startRedis();
  const client = new Redis(redis.url);
  expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
  client.disconnect();
});

test('a cluster of three masters and three replicas serves keys of every slot', async () => {
  await using servers = await startCluster({ masters: 3, replicas: 1 });
  const cluster = servers.connect();
  const keys = Array.from({ length: 50 }, (_, index) => `key-${index}`);
  await Promise.all(keys.map(async (key) => cluster.set(key, key)));
  expect(await Promise.all(keys.map(async (key) => cluster.get(key)))).toEqual(keys);
  expect(cluster.nodes('master')).toHaveLength(3);
  cluster.disconnect();
});
