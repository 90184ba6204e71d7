/** A master under Sentinel dies, for good or for a while: replicated work ends once, all processes recover.
 *  It must not inform anything but the sentinels about the master. */
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { ServiceUnavailable } from '../../../../src/contract/problem.ts';
import { okResult } from '../../../../src/contract/result.ts';
import { confirmation } from '../../../../src/queue/durability.ts';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import { eventually } from '../../../support/eventually.ts';
import { installOn } from '../../../support/installation.ts';
import { auditLoad, startLoad } from '../../../support/load.ts';
import { openPipeline } from '../../../support/pipeline.ts';
import { post, untilClosed } from '../../../support/public-api.ts';
import { startRedis, type TestRedis } from '../../../support/redis.ts';
import { startSentinel } from '../../../support/redis-sentinel.ts';
import { startService } from '../../../support/running-service.ts';

describe('the master dies', () => {
  test.each<[string, (master: TestRedis) => unknown]>([
    ['is killed', (master) => master.kill9()],
    ['hangs, and closes no connection', ({ pid }) => process.kill(pid, 'SIGSTOP')],
  ])('%s, with durability "replica": acknowledged work ends once after the failover', async (_how, end) => {
    await using sentinel = await startSentinel({ replicas: 2 });
    // Longer than a slow election: each lease that lapses before a claim is confirmed counts as a lost worker.
    await using installation = await installOn(sentinel.url, {
      config: { durability: 'replica', worker: { lease_ms: 5_000 } },
    });
    const { start } = installation;
    const children = await Promise.all([start('api'), start('worker'), start('worker')]);
    const { url } = children[0];
    const load = startLoad({ url, delayMs: 20 });
    await load.until(({ accepted }) => accepted.size >= 60);
    const { elected } = await sentinel.nextMaster();
    await end(sentinel.master);
    expect(sentinel.replicas.map(({ port }) => port)).toContain(await elected);
    const before = load.accepted.size;
    await load.until(({ accepted }) => accepted.size >= before + 60);
    await load.stop();
    const outcomes = await auditLoad(url, load, installation);
    expect(outcomes['ok']).toBeGreaterThan(load.accepted.size / 2);
    for (const child of children) expect(await child.stop()).toEqual({ code: 0, signal: null });
  });

  test('with a claim that no replica has: the call is made once, after the failover', async () => {
    await using sentinel = await startSentinel({ replicas: 1 });
    await using open = await openPipeline(sentinel.url, { durability: 'replica' });
    const [replica] = sentinel.replicas;
    if (replica === undefined) throw new Error('no replica');
    const ran: string[] = [];
    await open.startWorker(async ({ id }) => {
      ran.push(id);
      return { result: okResult('done') };
    });
    const call = { type: 'tool_exec', id: 'a', request_id: 'r', tool_name: 'test.echo' } as const;
    process.kill(replica.pid, 'SIGSTOP');
    const refusal: unknown = await open.client.submit(call).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ServiceUnavailable);
    // Only the master has the directive and the claim; both die with it.
    await eventually(() => open.journal.directive('r', 'a')).toMatchObject({ status: 'running', fence: 1 });
    expect(ran).toEqual([]);
    const { elected } = await sentinel.nextMaster();
    await sentinel.master.kill9();
    process.kill(replica.pid, 'SIGCONT');
    await elected;

    await sentinel.master.restart();
    for (let known = false; !known;) {
      known = await open.client.submit(call).then(
        () => true,
        () => false,
      );
    }
    const signal = await open.client.result('r', 'a');
    expect(signal).toMatchObject({ attempt: 1, data: { result: { ok: true } } });
    expect(ran).toEqual(['a']);
  });
});

describe('durability', () => {
  test('"replica" answers 503 while no replica confirms', async () => {
    await using redis = await startRedis();
    await using open = await openPipeline(redis.url, { durability: 'replica' });
    const directive = { type: 'tool_exec', id: 'a', request_id: 'r', tool_name: 'test.echo' } as const;
    const refusal: unknown = await open.client.submit(directive).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ServiceUnavailable);
    expect(refusal).toMatchObject({ message: expect.stringContaining('no replica has it yet') });
    expect((refusal as ServiceUnavailable).retryAfterMs).toBeGreaterThan(0);
  });

  // Issue 14: claims were said to wait behind the confirmations of submissions.
  test('"replica" in one process: a claim is written and waits for its replica while a submission waits for its own', async () => {
    await using master = await startRedis();
    await using replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
    await using service = await startService({ redisUrl: master.url, config: { durability: 'replica' } });
    const commands = new Redis(master.url);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => commands.disconnect());
    const waiting = async (): Promise<string[]> => {
      const clients = String(await commands.client('LIST'))
        .split('\n')
        .filter((client) => client.includes(' cmd=wait '));
      return clients.flatMap((client) => / name=(\S+)/.exec(client)?.[1] ?? []).toSorted();
    };
    await eventually(() => commands.wait(1, 1_000)).toBe(1);
    process.kill(replica.pid, 'SIGSTOP');
    const call = { type: 'tool_exec', tool_name: 'peer.echo', request_id: 'r', id: 'a' };
    const submitting = new AbortController();
    const submitted = (async () => {
      while (!submitting.signal.aborted) await post(`${service.url}/v1/directives`, call);
    })();
    await eventually(waiting).toEqual(['adjutant-commands', 'adjutant-submit']);
    submitting.abort();
    process.kill(replica.pid, 'SIGCONT');
    await submitted;
    await untilClosed(service.url, 'r');
  });

  test('"fsync" is refused at the start if Redis cannot report when it has flushed', async () => {
    await using redis = await startRedis({ appendonly: true });
    const connection = connectRedis(redis.url, 'submit');
    const knowsWaitaof = await confirmation(connection, 'fsync').then(
      () => true,
      () => false,
    );
    await closeRedis(connection);
    const starting = startService({ redisUrl: redis.url, config: { durability: 'fsync' } });
    if (knowsWaitaof) {
      await (await starting).stop();
      return;
    }
    await expect(starting).rejects.toThrow(
      'durability "fsync" needs Redis 7.2 or later, or appendfsync always',
    );
  });

  test('"fsync" works with appendfsync always', async () => {
    await using redis = await startRedis({ appendonly: true, appendfsync: 'always' });
    await using open = await openPipeline(redis.url, { durability: 'fsync' });
    const directive = { type: 'tool_exec', id: 'a', request_id: 'r', tool_name: 'test.echo' } as const;
    expect((await open.client.submit(directive)).directives[0]?.status).toBe('accepted');
  });
});
