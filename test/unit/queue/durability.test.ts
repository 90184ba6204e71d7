/** How a write is confirmed, on a connection that the test plays.
 *  It must never confirm by itself. */
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { ServiceUnavailable } from '../../../src/contract/problem.ts';
import { confirmation, confirmations, type Durability } from '../../../src/queue/durability.ts';
import type { RedisConnection } from '../../../src/platform/redis/connection.ts';

class Server extends EventEmitter {
  readonly isCluster: boolean = false;
  readonly questions: ((reply: unknown) => void)[] = [];
  readonly appendfsync: string = 'everysec';
  readonly knowsWaitaof: boolean = false;

  call(name: string): Promise<unknown> {
    if (name === 'CONFIG') return Promise.resolve(['appendfsync', this.appendfsync]);
    if (name === 'COMMAND') return Promise.resolve([this.knowsWaitaof ? ['waitaof'] : null]);
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.questions.push((reply) => resolve(reply instanceof Error ? Promise.reject(reply) : reply));
    return promise;
  }
}

const on = (server: object): RedisConnection => server as RedisConnection;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('memory needs no question', async () => {
  expect(await confirmation(on(new Server()), 'memory')).toBeNull();
  expect(await confirmations(on(new Server()), 'memory')()).toBeNull();
});

test.each<Durability>(['fsync', 'replica'])('%s is refused on a cluster', async (durability) => {
  const cluster = Object.assign(new Server(), { isCluster: true });
  await expect(confirmation(on(cluster), durability)).rejects.toThrow(/on a cluster use appendfsync always/);
});

test('fsync needs WAITAOF, or a Redis that flushes before it answers', async () => {
  await expect(confirmation(on(new Server()), 'fsync')).rejects.toThrow(
    'durability "fsync" needs Redis 7.2 or later, or appendfsync always',
  );
  expect(await confirmation(on(Object.assign(new Server(), { appendfsync: 'always' })), 'fsync')).toBeNull();
  const confirm = (await confirmation(on(Object.assign(new Server(), { knowsWaitaof: true })), 'fsync'))?.();
  expect(confirm).toBeTypeOf('function');
});

async function onReplicas() {
  const server = new Server();
  return { server, begin: confirmations(on(server), 'replica') };
}

test('one replica is enough, none is not', async () => {
  const { server, begin } = await onReplicas();
  const answers = [await begin(), await begin()].map(async (confirm) => confirm?.());
  await turn();
  server.questions[0]?.(1);
  await Promise.all(answers);

  const late = (await begin())?.();
  await turn();
  server.questions[1]?.(0);
  await expect(late).rejects.toThrow(ServiceUnavailable);
});

test('a former master does not confirm', async () => {
  const { server, begin } = await onReplicas();
  const asked = (await begin())?.();
  await turn();
  server.questions[0]?.(new Error('ERR WAIT cannot be used with replica instances.'));
  await expect(asked).rejects.toThrow(ServiceUnavailable);
});

test('another connection does not confirm what was written to the one before', async () => {
  const { server, begin } = await onReplicas();
  const confirm = await begin();
  server.emit('close');
  const asked = confirm?.();
  await turn();
  server.questions[0]?.(1);
  await expect(asked).rejects.toThrow(/connection to Redis was lost/);

  const next = (await begin())?.();
  await turn();
  server.questions[1]?.(1);
  await next;
});

test('callers that wait while a confirmation is pending share the next one', async () => {
  const { server, begin } = await onReplicas();
  const first = (await begin())?.();
  await turn();
  const others = [await begin(), await begin(), await begin()].map(async (confirm) => confirm?.());
  await turn();
  expect(server.questions.length).toBe(1);
  server.questions[0]?.(0);
  await expect(first).rejects.toThrow(ServiceUnavailable);
  await turn();
  expect(server.questions.length).toBe(2);
  server.questions[1]?.(1);
  await Promise.all(others);
});
