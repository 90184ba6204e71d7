/** The typed client when the network or the service fails: nothing missing, nothing twice, typed errors.
 *  It must not bypass the client: only what a program sees is checked. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import { ServiceUnavailable } from '../../../src/contract/problem.ts';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import { freePort } from '../../support/process.ts';
import { startRedis } from '../../support/redis.ts';
import { type RunningService, startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const service = shared(() => startService({ redisUrl: redis.url, roles: { api: true } }));
let direct: DirectiveClient;

beforeAll(async () => {
  direct = await createDirectClient({ redisUrl: redis.url, prefix: service.prefix, knownServers: ['peer'] });
  return () => direct.close();
});

async function append(requestId: string, count: number): Promise<void> {
  const one = { type: 'emit_tool_error' as const, tool_name: 'peer.echo', error: 'e', request_id: requestId };
  await direct.submit(Array.from({ length: count }, () => one));
}

/** A request that stays open until a worker comes. */
async function openRequest(): Promise<string> {
  const requestId = `open-${randomUUID()}`;
  await direct.submit({ type: 'tool_exec', tool_name: 'peer.echo', request_id: requestId });
  return requestId;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('a follower', () => {
  test('whose connection is cut again and again reads every signal once, in order, to the end', async () => {
    const requestId = await openRequest();
    await append(requestId, 150);
    let budget = 3_000;
    const proxy = await startCuttingProxy({ target: service.url, cutAfterBytes: () => (budget += 1_111) });
    const client = createHttpClient({ baseUrl: proxy.url, random: () => 1 });
    const seen: number[] = [];
    let worker: RunningService | null = null;
    for await (const { sequence } of client.signals(requestId)) {
      seen.push(sequence);
      if (sequence === 100) await append(requestId, 50);
      if (sequence === 200)
        worker = await startService({ redisUrl: redis.url, roles: { worker: true }, prefix: service.prefix });
    }
    // The log has more than 202 where the directive waited so long for its worker that a signal tells why.
    const { last_sequence: last } = await direct.page(requestId, { after: 201, limit: 100 });
    expect(seen).toEqual(upTo(last));
    expect(seen.length).toBeGreaterThanOrEqual(202);
    expect(proxy.cuts).toBeGreaterThan(3);
    await worker?.stop();
    await proxy.stop();
  });

  test('waits for a service that restarts', async () => {
    const port = await freePort();
    const start = async () =>
      startService({ redisUrl: redis.url, roles: { api: true }, prefix: service.prefix, port });
    let other = await start();
    const requestId = `restart-${randomUUID()}`;
    const client = createHttpClient({ baseUrl: other.url, random: () => 1 });
    await direct.submit({ type: 'tool_exec', tool_name: 'peer.echo', request_id: requestId });
    await append(requestId, 2);
    const seen: number[] = [];
    for await (const { sequence } of client.signals(requestId)) {
      seen.push(sequence);
      if (sequence === 2) {
        await other.stop();
        await append(requestId, 2);
        other = await start();
      }
      if (sequence === 4) break;
    }
    expect(seen).toEqual(upTo(4));
    await other.stop();
  });

  test('abandons a connection without traffic, and goes on with another', async () => {
    const requestId = await openRequest();
    await append(requestId, 1);
    let opened = 0;
    const counting = createHttpClient({
      baseUrl: service.url,
      random: () => 1,
      idleTimeoutMs: 30,
      fetch: async (...request) => {
        opened += 1;
        if (opened === 3) await append(requestId, 1);
        return fetch(...request);
      },
    });
    const seen: number[] = [];
    for await (const { sequence } of counting.signals(requestId)) {
      seen.push(sequence);
      if (sequence === 2) break;
    }
    expect(seen).toEqual([1, 2]);
    expect(opened).toBeGreaterThanOrEqual(3);
  });

  test('ends with its client', async () => {
    const requestId = await openRequest();
    await append(requestId, 1);
    const client = createHttpClient({ baseUrl: service.url });
    const seen: number[] = [];
    for await (const { sequence } of client.signals(requestId)) {
      seen.push(sequence);
      await client.close();
    }
    expect(seen).toEqual([1]);
  });
});

describe('an unavailable service', () => {
  test('is a typed error from every method, at once', async () => {
    const client = createHttpClient({ baseUrl: `http://127.0.0.1:${await freePort()}` });
    const calls = [
      async () => client.submit({ type: 'tool_exec', tool_name: 'a.b' }),
      async () => client.execute({ type: 'tool_exec', tool_name: 'a.b' }),
      async () => client.result('r', 'd'),
      async () => client.page('r'),
      async () => client.request('r'),
      async () => client.directive('r', 'd'),
      async () => client.tools(),
      async () => client.lanes(),
      async () => client.signals('r')[Symbol.asyncIterator]().next(),
    ];
    for (const call of calls) await expect(call()).rejects.toBeInstanceOf(ServiceUnavailable);
  });

  test('reports how long to wait', async () => {
    await using fragile = await startRedis();
    await using other = await startService({ redisUrl: fragile.url, roles: { api: true } });
    const client = createHttpClient({ baseUrl: other.url });
    await fragile.kill9();
    const error: unknown = await client.request('r').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ServiceUnavailable);
    expect((error as ServiceUnavailable).retryAfterMs).toBeGreaterThan(0);
  });

  test('does not lose a result that is waited for', async () => {
    const port = await freePort();
    const start = async () =>
      startService({ redisUrl: redis.url, roles: { api: true }, prefix: service.prefix, port });
    let other = await start();
    const client = createHttpClient({ baseUrl: other.url, random: () => 1 });
    const identity = { request_id: `wait-${randomUUID()}`, id: 'a' };
    const waiting = client.execute({ type: 'tool_exec', tool_name: 'peer.echo', ...identity });
    await expect.poll(async () => direct.directive(identity.request_id, identity.id)).not.toBeNull();
    await other.stop();
    other = await start();
    const worker = await startService({
      redisUrl: redis.url,
      roles: { worker: true },
      prefix: service.prefix,
    });
    expect(await waiting).toMatchObject({ type: 'ai.tool.result', data: { result: { ok: true } } });
    await worker.stop();
    await other.stop();
  });
});
