/** Errors of Redis: what they show of the command that failed.
 *  It must never need a Redis that is broken: a command on the wrong kind of key fails everywhere. */
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import { startRedis } from '../../../support/redis.ts';

test('no error holds the arguments of a failed command', async () => {
  await using redis = await startRedis();
  const connection = connectRedis(redis.url, 'commands');
  await connection.set('text', 'x');
  const failed = [
    connection.lpush('text', 'hunter2'),
    connection.eval('return redis.error_reply("ERR no")', 0, 'hunter2'),
    connection.multi().lpush('text', 'hunter2').exec(),
  ];
  const errors = (await Promise.allSettled(failed)).map((ended) =>
    ended.status === 'rejected' ? (ended.reason as unknown) : ended.value,
  );
  await closeRedis(connection);
  expect(inspect(errors, { depth: 9 })).toMatch(/lpush/);
  expect(inspect(errors, { depth: 9, showHidden: true })).not.toContain('hunter2');
});
