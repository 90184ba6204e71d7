/** Announcements arrive, whatever happened to the subscription before: no wait here ends by a check of the log.
 *  It must never leave a wait the time for such a check. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import { okResult } from '../../../../src/contract/result.ts';
import { createSubscriptions } from '../../../../src/store/log/subscriptions.ts';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import { bareClient } from '../../../support/bare-client.ts';
import { eventually } from '../../../support/eventually.ts';
import { startFaultyProxy } from '../../../support/faulty-proxy.ts';
import { openPipeline } from '../../../support/pipeline.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { startRedis, type TestRedis } from '../../../support/redis.ts';
import { startService } from '../../../support/running-service.ts';
import { startSentinel } from '../../../support/redis-sentinel.ts';
import { testStore } from '../../../support/store.ts';

/** A check of the log, or of the subscription, that never comes. */
const NEVER_MS = 2_000_000_000;

/** A client that learns of an end only by its announcement. */
async function openClient(
  url: string,
  prefix: string,
  { listeningUrl = url, verifyMs = NEVER_MS }: { listeningUrl?: string; verifyMs?: number } = {},
) {
  const connection = connectRedis(url, 'submit');
  const listening = connectRedis(listeningUrl, 'subscriber');
  const store = testStore(connection, { prefix });
  const errors: Error[] = [];
  const opened = bareClient(store, listening, {
    recheckMs: NEVER_MS,
    verifyMs,
    onError: (error) => void errors.push(error),
  });
  return {
    ...opened,
    errors,
    listening,
    [Symbol.asyncDispose]: async () => {
      await opened.client.close();
      await store.close();
      await Promise.all([closeRedis(connection), closeRedis(listening)]);
    },
  };
}

const call = (requestId: string) =>
  ({ type: 'tool_exec', id: 'a', request_id: requestId, tool_name: 'test.echo' }) as const;

/** By the reply channel: a submission that waits. By the log: a reader that follows. */
async function expectToHear(client: DirectiveClient): Promise<string> {
  const [waited, followed] = [randomUUID(), randomUUID()];
  expect((await client.execute(call(waited))).data).toMatchObject({ result: { ok: true } });
  await client.submit(call(followed));
  const types: string[] = [];
  for await (const { type } of client.signals(followed)) types.push(type);
  expect(types.at(-1)).toBe('ai.tool.result');
  return followed;
}

describe('a waiting call is answered by its announcement', () => {
  test('after the last follower has left, and after a later restart of Redis', async () => {
    await using redis = await startRedis({ appendonly: true });
    await using open = await openPipeline(redis.url);
    await using quiet = await openClient(redis.url, open.prefix);
    await open.startWorker(async () => ({ result: okResult('done') }));
    const log = open.keys.log(await expectToHear(quiet.client));
    await eventually(() => open.connection.call('PUBSUB', 'SHARDNUMSUB', log)).toEqual([log, 0]);
    await expectToHear(quiet.client);
    await redis.restart();
    await expectToHear(quiet.client);
  });

  test('when Redis was killed again and again, also during a new subscription', async () => {
    await using redis = await startRedis({ appendonly: true });
    await using proxy = await startFaultyProxy(redis.port);
    await using open = await openPipeline(redis.url);
    await using quiet = await openClient(redis.url, open.prefix, {
      listeningUrl: `redis://127.0.0.1:${proxy.port}`,
    });
    await open.startWorker(async () => ({ result: okResult('done') }));
    await expectToHear(quiet.client);
    for (let round = 1; round <= 4; round += 1) {
      proxy.cutAt('subscribe', round);
      await redis.restart();
      if (round % 2 === 0) await eventually(() => quiet.hearing().ok).toBe(true);
    }
    await expectToHear(quiet.client);
    expect(proxy.cuts).toBeGreaterThan(4);
    expect(quiet.hearing()).toEqual({ ok: true, lostAt: null });
  });

  test('under Sentinel and on a cluster, when the subscribers of every node were killed', async () => {
    await using sentinel = await startSentinel();
    await using cluster = await startCluster();
    const killSubscribers = async (nodes: readonly TestRedis[]): Promise<void> => {
      for (const { url } of nodes) {
        const operator = connectRedis(url, 'commands');
        await operator.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await closeRedis(operator);
      }
    };
    for (const [url, nodes] of [
      [sentinel.url, [sentinel.master]],
      [cluster.url, cluster.nodes],
    ] as const) {
      await using open = await openPipeline(url);
      await using quiet = await openClient(url, open.prefix, { verifyMs: 500 });
      await open.startWorker(async () => ({ result: okResult('done') }));
      await expectToHear(quiet.client);
      for (let round = 0; round < 3; round += 1) await killSubscribers(nodes);
      await expectToHear(quiet.client);
    }
  });
});

test('garbage on every channel ends no process, and answers come as before', async () => {
  await using redis = await startRedis();
  await using open = await openPipeline(redis.url);
  await using quiet = await openClient(redis.url, open.prefix);
  const { connection } = open;
  const request_id = randomUUID();
  const head = `${request_id}/a 2`;
  const texts = ['', 'x', '/', '{"sequence":2', head, `${head} {`, `${head} "a"`, `${head} {"sequence":0}`];
  const reached: string[] = [];
  await open.startWorker(async () => {
    const plain = (await connection.call('PUBSUB', 'CHANNELS', '*')) as string[];
    const sharded = (await connection.call('PUBSUB', 'SHARDCHANNELS', '*')) as string[];
    for (const text of texts) {
      for (const name of plain) await connection.publish(name, text);
      for (const name of sharded) await connection.spublish(name, text);
    }
    reached.push(...plain);
    return { result: okResult('done') };
  });
  expect((await quiet.client.execute(call(request_id))).data).toMatchObject({ result: { ok: true } });
  expect(reached).toContain(open.keys.cancellations);
  expect(reached).toContainEqual(expect.stringContaining(':inbox:'));
  // Of the inbox and of the cancellations, one each.
  expect(open.errors.concat(quiet.errors).map(({ message }) => message)).toEqual([
    expect.stringContaining('cancellations cannot be read'),
    expect.stringContaining('inbox:'),
  ]);
});

describe('subscriptions', () => {
  async function openSubscriptions(url: string, listeningUrl = url, verifyMs = 50) {
    const publishing = connectRedis(url, 'commands');
    const listening = connectRedis(listeningUrl, 'subscriber');
    const subscriptions = createSubscriptions({ listening, publishing, verifyMs });
    return {
      publishing,
      listening,
      subscriptions,
      [Symbol.asyncDispose]: async () => {
        subscriptions.close();
        await Promise.all([closeRedis(publishing), closeRedis(listening)]);
      },
    };
  }

  test.each(['plain', 'sharded'] as const)(
    'a %s channel that Redis has forgotten is subscribed again',
    async (kind) => {
      await using redis = await startRedis();
      await using open = await openSubscriptions(redis.url);
      const missed = Promise.withResolvers<void>();
      await open.subscriptions.open(kind, 'news', { hear: () => {}, missed: missed.resolve });
      await (kind === 'plain' ? open.listening.unsubscribe('news') : open.listening.sunsubscribe('news'));
      await missed.promise;
      expect(await open.publishing.call(kind === 'plain' ? 'PUBLISH' : 'SPUBLISH', 'news', 'x')).toBe(1);
      expect(open.subscriptions.hearing()).toEqual({ ok: true, lostAt: null });
    },
  );

  test('a connection whose host has vanished is replaced', async () => {
    await using redis = await startRedis();
    await using proxy = await startFaultyProxy(redis.port);
    await using open = await openSubscriptions(redis.url, `redis://127.0.0.1:${proxy.port}`, 50);
    const { subscriptions } = open;
    const missed = Promise.withResolvers<void>();
    await subscriptions.open('plain', 'news', { hear: () => {}, missed: missed.resolve });
    expect(proxy.holdAll()).toBe(1);
    await missed.promise;
    expect(subscriptions.hearing().ok).toBe(true);
  });

  test('a channel that is being opened is not a fault, one that stays unconfirmed is', async () => {
    await using redis = await startRedis();
    await using proxy = await startFaultyProxy(redis.port);
    await using open = await openSubscriptions(redis.url, `redis://127.0.0.1:${proxy.port}`, 500);
    const { subscriptions } = open;
    const deaf = { hear: () => {}, missed: () => {} };
    await subscriptions.open('plain', 'inbox', deaf);
    const opening = subscriptions.open('sharded', 'log', deaf);
    expect(subscriptions.hearing()).toEqual({ ok: true, lostAt: null });
    await opening;
    proxy.holdAll();
    subscriptions.open('sharded', 'another', deaf).catch(() => {});
    await eventually(() => subscriptions.hearing().ok).toBe(false);
  });

  test('a check message reaches nothing but the subscription', async () => {
    await using redis = await startRedis();
    await using open = await openSubscriptions(redis.url);
    const heard: string[] = [];
    const last = Promise.withResolvers<void>();
    const hear = (message: string): void => {
      heard.push(message);
      if (message === 'last') last.resolve();
    };
    await open.subscriptions.open('plain', 'news', { hear, missed: () => {} });
    const questions = Promise.withResolvers<void>();
    const witness = connectRedis(redis.url, 'subscriber');
    let count = 0;
    witness.on('message', () => void ((count += 1) === 3 && questions.resolve()));
    await witness.subscribe('news');
    await questions.promise;
    await open.publishing.publish('news', 'last');
    await last.promise;
    expect(heard).toEqual(['last']);
    await closeRedis(witness);
  });
});

test('a channel reports what it could not read once, and counts it as missed', async () => {
  await using redis = await startRedis();
  const publishing = connectRedis(redis.url, 'commands');
  const listening = connectRedis(redis.url, 'subscriber');
  const errors: string[] = [];
  const onError = ({ message }: Error): void => void errors.push(message);
  const subscriptions = createSubscriptions({ listening, publishing, onError });
  const heard: string[] = [];
  const last = Promise.withResolvers<void>();
  await subscriptions.open('plain', 'news', {
    hear(message) {
      if (message === 'last') return last.resolve();
      throw new SyntaxError(message);
    },
    missed: () => void heard.push('missed'),
  });
  for (const text of ['secret', 'secret', 'last']) await publishing.publish('news', text);
  await last.promise;
  expect(heard).toEqual(['missed', 'missed']);
  expect(errors).toEqual([expect.stringMatching(/^a message on news cannot be read(?!.*secret)/)]);
  subscriptions.close();
  await Promise.all([closeRedis(publishing), closeRedis(listening)]);
});

test('/readyz reports when announcements do not arrive, and when they arrive again', async () => {
  await using redis = await startRedis();
  await using service = await startService({ redisUrl: redis.url, roles: { api: true, worker: true } });
  const operator = connectRedis(redis.url, 'commands');
  const ready = async () => {
    const response = await fetch(`${service.url}/readyz`);
    const { checks } = (await response.json()) as { checks: Record<string, string> };
    return { status: response.status, ...checks };
  };
  const well = {
    status: 200,
    redis: 'ok',
    announcements: 'ok',
    cancellations: 'ok',
    worker: 'ok',
    engine: 'none works',
  };
  await eventually(ready).toEqual(well);
  // Redis disconnects a subscriber that loses the right to its channel.
  await operator.call('ACL', 'SETUSER', 'default', 'resetchannels');
  await eventually(ready).toMatchObject({
    status: 503,
    redis: 'ok',
    announcements: expect.stringContaining('not heard since'),
    cancellations: expect.stringContaining('not heard since'),
  });
  await operator.call('ACL', 'SETUSER', 'default', 'allchannels');
  await eventually(ready).toEqual(well);
  await closeRedis(operator);
});
