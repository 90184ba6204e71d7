/** The lines of an outage of Redis, over several connections, by a clock of the test.
 *  It must not need a Redis. */
import { EventEmitter } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createRedisOutage } from '../../../../src/platform/redis/outage.ts';
import type { RedisConnection } from '../../../../src/platform/redis/connection.ts';
import { eventually } from '../../../support/eventually.ts';
import { SILENT } from '../../../../src/platform/telemetry/logger.ts';

async function setUp() {
  const clock = { now: 0 };
  const lines: { fields: object; message: string }[] = [];
  const outage = createRedisOutage({
    logger: { ...SILENT, warn: (fields, message) => void lines.push({ fields, message }) },
    waiting: () => ({ attempts: 3 }),
    now: () => clock.now,
  });
  const connections = [new EventEmitter(), new EventEmitter()] as const;
  for (const connection of connections) outage.watch(connection as unknown as RedisConnection);
  await outage.start();
  onTestFinished(() => outage.stop());
  const refuse = (): void => {
    for (const connection of connections)
      connection.emit('error', new Error('connect ECONNREFUSED 127.0.0.1:6379'));
  };
  return { clock, lines, outage, connections, refuse };
}

const messages = (lines: readonly { message: string }[]): string[] =>
  lines.map(({ message }) => message.split(':')[0] ?? '');

test('all connections together: one line as it begins, one per minute, one as it ends', async () => {
  const { clock, lines, outage, connections, refuse } = await setUp();
  for (const connection of connections) connection.emit('reconnecting');
  for (let second = 1; second <= 150; second += 1) {
    clock.now = second * 1_000;
    refuse();
    expect(outage.explains(new Error('Command timed out'))).toBe(true);
    expect(outage.explains(new Error('could not renew lock for job r/a'))).toBe(true);
  }
  connections[0].emit('ready');
  expect(messages(lines)).toEqual([
    'Redis is unreachable',
    'Redis is still unreachable',
    'Redis is still unreachable',
  ]);
  connections[1].emit('ready');
  expect(lines.slice(1)).toMatchObject([
    { fields: { for_s: 60, waiting: { attempts: 3 }, reason: 'connect ECONNREFUSED 127.0.0.1:6379' } },
    { fields: { for_s: 120 } },
    { fields: { after_s: 149, waited: { attempts: 3 } }, message: 'Redis is back: waiting work continues' },
  ]);
  // Late errors belong to the same outage; the next outage has its own lines.
  for (const what of ['lock', 'key'])
    expect(outage.explains(new Error(`Missing ${what} for job r/a. moveToFinished`))).toBe(true);
  expect(outage.explains(new Error('Command timed out'))).toBe(true);
  expect(lines).toHaveLength(4);
  connections[0].emit('reconnecting');
  clock.now += 1_000;
  refuse();
  expect(messages(lines).at(-1)).toBe('Redis is unreachable');
});

test('a connection that is cut and back at once is no outage', async () => {
  const { clock, lines, connections } = await setUp();
  connections[0].emit('reconnecting');
  clock.now = 100;
  connections[0].emit('ready');
  expect(lines).toEqual([]);
});

test('a Redis that refuses is an outage too, and ends when nothing was refused for a while', async () => {
  const { clock, lines, outage } = await setUp();
  expect(outage.explains(new Error('OOM command not allowed when used memory > maxmemory'))).toBe(true);
  expect(outage.explains(new Error('OOM command not allowed when used memory > maxmemory'))).toBe(true);
  clock.now = 11_000;
  await eventually(() => messages(lines)).toEqual(['Redis is full', 'Redis is back']);
});

test('an error that an outage does not explain is not hidden', async () => {
  const { outage, connections, refuse, clock } = await setUp();
  expect(outage.explains(new Error('could not renew lock for job r/a'))).toBe(false);
  connections[0].emit('reconnecting');
  clock.now = 1_000;
  refuse();
  expect(outage.explains(new Error('NOPERM this user has no permissions'))).toBe(false);
});

test('before its start and after its stop it logs nothing: a failed start reports the reason itself', async () => {
  const { clock, lines, outage, connections, refuse } = await setUp();
  await outage.stop();
  connections[0].emit('reconnecting');
  clock.now = 1_000;
  refuse();
  expect(outage.explains(new Error('Command timed out'))).toBe(true);
  expect(lines).toEqual([]);
});
