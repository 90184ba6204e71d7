/** Redis is away under real processes: submissions are a 503, a stop works, and an outage is two lines (test/e2e/redis-killed.test.ts
 *  restarts it under load).
 *  It must not help any process to recover. */
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { ServiceUnavailable } from '../../../../src/contract/problem.ts';
import { createDirectClient } from '../../../../src/service/direct-client.ts';
import { countingCall, countingCalls } from '../../../support/calls.ts';
import { install } from '../../../support/installation.ts';
import { freePort, spawnNode } from '../../../support/process.ts';
import { post } from '../../../support/public-api.ts';
import { startRedis } from '../../../support/redis.ts';
import { PROGRAM } from '../../../support/program.ts';

test('an outage is a line as it begins and one as it ends, whatever the process does with Redis', async () => {
  await using installation = await install({ redis: { appendonly: true } });
  const up = await installation.start('up');
  // They end while Redis is away: it dies before, and the answer of the API below takes 5 s.
  const directives = countingCalls(['once'], 2, { requestId: 'r', delayMs: 2_000 });
  expect((await post(`${up.url}/v1/directives`, { directives })).status).toBe(202);
  await installation.untilExecuted(({ length }) => length === 2);
  const before = up.lines.length;
  await installation.redis.kill9();
  const began = JSON.parse(await up.waitForLine(/Redis is unreachable/)) as object;
  const reason: unknown = expect.stringMatching(/ECONNREFUSED|ECONNRESET|EPIPE/);
  expect(began).toMatchObject({ level: 'warn', reason });
  // Every kind of waiting: a command that times out, a stream that is cut.
  expect((await fetch(`${up.url}/v1/requests/r`)).status).toBe(503);
  await installation.redis.restart();
  const ended = JSON.parse(await up.waitForLine(/Redis is back/)) as object;
  expect(ended).toMatchObject({ after_s: expect.any(Number), waited: { attempts: 2, runs: 0 } });
  for (const id of ['once-0', 'once-1'])
    expect((await fetch(`${up.url}/v1/requests/r/directives/${id}?wait_ms=20000`)).status).toBe(200);
  expect(up.lines.slice(before)).toEqual([
    expect.stringContaining('Redis is unreachable'),
    expect.stringContaining('Redis is back'),
  ]);
});

describe.concurrent('while Redis is away', () => {
  test('a submission is refused with the time to try again, and the next is accepted once Redis is there', async () => {
    await using redis = await startRedis({ appendonly: true });
    await using installation = await install({ redis: { appendonly: true } });
    const { url } = await installation.start('api');
    const client = await createDirectClient({ redisUrl: redis.url, knownServers: ['counting'] });
    // Neither process has used this lane before.
    const warmUp = {
      type: 'emit_tool_error',
      id: 'a',
      tool_name: 'a.b',
      error: { type: 'x', message: 'x' },
    } as const;
    await client.submit(warmUp);
    expect((await post(`${url}/v1/directives`, warmUp)).status).toBe(202);
    await Promise.all([redis.kill9(), installation.redis.kill9()]);

    const call = countingCall('once', 1, { requestId: 'r' });
    const [refusal, answer] = await Promise.all([
      client.submit(call).catch((error: unknown) => error),
      fetch(`${url}/v1/directives`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(call),
      }),
    ]);
    expect(refusal).toBeInstanceOf(ServiceUnavailable);
    expect((refusal as ServiceUnavailable).retryAfterMs).toBeGreaterThan(0);
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);

    await Promise.all([redis.restart(), installation.redis.restart()]);
    expect((await client.submit(call)).directives[0]?.id).toBe('once-1');
    expect((await post(`${url}/v1/directives`, call)).status).toBe(202);
    await client.close();
  });

  test('a stop works: for an idle worker, one that cannot record its result, and the API', async () => {
    await using installation = await install({ config: { worker: { drain_ms: 500 } } });
    const { start } = installation;
    const [api, busy, idle] = await Promise.all([start('api'), start('worker'), start('worker')]);
    const directives = countingCalls(['once'], 2, { requestId: 'r', delayMs: 200 });
    expect((await post(`${api.url}/v1/directives`, { directives })).status).toBe(202);
    await installation.untilExecuted(({ length }) => length === 2);
    await installation.redis.kill9();
    const exits = await Promise.all([api, busy, idle].map((child) => child.stop()));
    expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })));
  });

  const away = (nodes: readonly number[]): string[] => {
    const list = nodes.map((port) => `127.0.0.1:${port}`).join(',');
    return [`redis://127.0.0.1:${nodes[0]}`, `redis+sentinel://${list}/mymaster`, `redis+cluster://${list}`];
  };

  test('a starting process reports it in one sentence with a fix, and ends', async () => {
    const urls = away([await freePort(), await freePort()]);
    const starts = [...urls.map((url) => ['worker', url] as const), ['api', urls[0] ?? ''] as const];
    const children = starts.map(([role, REDIS_URL]) =>
      spawnNode([PROGRAM, role], { cwd: tmpdir(), env: { REDIS_URL, ADJUTANT_PORT: '0' } }),
    );
    for (const { exited, lines } of children) {
      expect(await exited).toEqual({ code: 1, signal: null });
      expect(lines).toEqual([
        expect.stringMatching(/error +redis: does not answer at redis/),
        expect.stringMatching(/fix +Start it, or correct REDIS_URL/),
      ]);
    }
  });
});
