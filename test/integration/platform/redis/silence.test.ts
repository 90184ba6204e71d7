/** A host that is gone without closing its connections: they are replaced, and waiting commands are sent again.
 *  It must not wait as long as an operating system does. */
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { closeRedis, connectRedis, type ConnectionRole } from '../../../../src/platform/redis/connection.ts';
import { startFaultyProxy } from '../../../support/faulty-proxy.ts';
import { startRedis } from '../../../support/redis.ts';

/** BullMQ's longest block, milliseconds. */
const LONGEST_BLOCK_MS = 10_000;

test.each<ConnectionRole>(['commands', 'submit', 'subscriber', 'blocking'])('of %s', async (role) => {
  await using redis = await startRedis();
  await using proxy = await startFaultyProxy(redis.port);
  const connection = connectRedis(`redis://127.0.0.1:${proxy.port}`, role) as Redis;
  await connection.ping();
  expect(connection.options.socketTimeout).toBeGreaterThan(LONGEST_BLOCK_MS);
  connection.options.socketTimeout = 100;
  expect(proxy.holdAll()).toBe(1);
  expect(await connection.ping()).toBe('PONG');
  await closeRedis(connection);
});

test('a command that blocks for less than the limit is left alone', async () => {
  await using redis = await startRedis();
  const connection = connectRedis(redis.url, 'commands') as Redis;
  await connection.ping();
  connection.options.socketTimeout = 2_000;
  let closed = 0;
  connection.on('close', () => (closed += 1));
  for (let round = 0; round < 4; round += 1) expect(await connection.blpop('nothing', 0.6)).toBeNull();
  expect(closed).toBe(0);
  await closeRedis(connection);
});
