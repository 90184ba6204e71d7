/** What begins later outlives everything: the API that accepted it, a Redis that is killed, the process that hands it over.
 *  It must not help any process to recover, nor judge an instant by another clock than that of Redis. */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import type { DirectiveView } from '../../../../src/contract/request/request-view.ts';
import { countingCall } from '../../../support/calls.ts';
import { eventually } from '../../../support/eventually.ts';
import { install, type Installation } from '../../../support/installation.ts';
import { get, post } from '../../../support/public-api.ts';

const COUNT = 100;
const LATE = 20;

type Seen = Pick<DirectiveView, 'status' | 'begins_at' | 'started_at' | 'attempts' | 'result'> & {
  id: string;
};

function batchOf(requestId: string, tool: 'read' | 'once', count: number, fields: object): { id: string }[] {
  return Array.from({ length: count }, (_, number) =>
    countingCall(tool, number, { requestId, fields: { ...fields, deadline_ms: 600_000 } }),
  );
}

async function submit(url: string, directives: readonly object[]): Promise<void> {
  const { status } = await post(`${url}/v1/directives`, { directives });
  expect(status).toBe(202);
}

async function seen(url: string, requestId: string): Promise<Seen[]> {
  const { status, body } = await get<{ directives: Seen[] }>(`${url}/v1/requests/${requestId}`);
  return status === 200 ? body.directives : [];
}

const allEnded = (url: string, requestId: string, status: string) =>
  eventually(async () => (await seen(url, requestId)).filter((each) => each.status === status).length);

function executedLabels({ executions }: Installation, tool: string): string[] {
  return executions()
    .filter((each) => each.tool === tool)
    .map(({ label }) => label);
}

test('each begins once and none before its instant, though API, Redis and whoever hands over are killed', async () => {
  await using installation = await install({ redis: { appendonly: true, appendfsync: 'always' } });
  const { redis, start } = installation;
  const first = await start('api');
  // Soon for some, much later for others, and some that nobody begins in time.
  await submit(first.url, batchOf('waits', 'once', COUNT, { delay_ms: 3_000 }));
  await submit(first.url, batchOf('far', 'read', LATE, { delay_ms: 86_400_000 }));
  await submit(first.url, batchOf('late', 'read', LATE, { delay_ms: 500, start_by_ms: 500 }));
  await first.kill9();
  await redis.kill9();
  await redis.restart();
  // No worker is there: what was to begin by now ends, once.
  const second = await start('api');
  await allEnded(second.url, 'late', 'failed').toBe(LATE);
  const connection = new Redis(redis.url);
  const waiting = `{${installation.prefix}:sweep}:later`;
  // In the middle of the wave.
  await eventually(() => connection.zcard(waiting)).toBeLessThan(COUNT + LATE);
  await second.kill9();
  const [{ url }] = await Promise.all([start('api'), start('worker'), start('worker')]);
  await allEnded(url, 'waits', 'succeeded').toBe(COUNT);
  expect(new Set(executedLabels(installation, 'once')).size).toBe(COUNT);
  expect(executedLabels(installation, 'once')).toHaveLength(COUNT);
  for (const { started_at, begins_at, attempts } of await seen(url, 'waits')) {
    expect(Date.parse(started_at ?? '')).toBeGreaterThanOrEqual(Date.parse(begins_at ?? ''));
    expect(attempts).toBe(1);
  }
  for (const { attempts, id } of await seen(url, 'late')) {
    expect(attempts).toBe(0);
    const { body } = await get<DirectiveView>(`${url}/v1/requests/late/directives/${id}`);
    expect(body.result).toMatchObject({ data: { result: { error: { type: 'expired' } } } });
  }
  expect(executedLabels(installation, 'read')).toEqual([]);
  expect(await connection.zcard(waiting)).toBe(LATE);
  const log = await get<{ signals: { type: string }[] }>(`${url}/v1/requests/late/signals`);
  expect(log.body.signals.filter(({ type }) => type === 'ai.tool.result')).toHaveLength(LATE);
  await connection.quit();
});
