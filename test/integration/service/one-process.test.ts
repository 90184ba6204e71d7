/** API and worker in one process: what is submitted needs no way through a lane, and everything else is as with two.
 *  It must look at the keys of the lane: that a call works says nothing about its way. */
import { fileURLToPath } from 'node:url';
import { Queue } from 'bullmq';
import { expect, test } from 'vitest';
import type { LaneListing } from '../../../src/contract/lane-listing.ts';
import type { Roles } from '../../../src/service/roles.ts';
import { lanePrefix } from '../../../src/queue/lane-registry.ts';
import { eventually } from '../../support/eventually.ts';
import { get, post, untilClosed } from '../../support/public-api.ts';
import { startService } from '../../support/running-service.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
const LANE = 'custom.holding';

const HOLDING = fileURLToPath(new URL('../../support/modules/holding.ts', import.meta.url));
const config = { mcpServers: {}, directives: [HOLDING] };
const start = (roles: Roles, prefix?: string) =>
  startService({ redisUrl: redis.url, roles, config, ...(prefix === undefined ? {} : { prefix }) });

async function jobsOf(prefix: string): Promise<Record<string, number>> {
  const connection = { host: '127.0.0.1', port: redis.port };
  const queue = new Queue(LANE, { connection, prefix: lanePrefix(prefix, LANE) });
  try {
    return await queue.getJobCounts('wait', 'active', 'delayed');
  } finally {
    await queue.close();
  }
}

async function running(url: string): Promise<string> {
  const { status, body } = await post<{ request_id: string }>(`${url}/v1/directives`, { type: 'holding' });
  expect(status).toBe(202);
  const of = async (): Promise<unknown> =>
    (await get<{ directives: { status: string }[] }>(`${url}/v1/requests/${body.request_id}`)).body
      .directives[0]?.status;
  await eventually(of).toBe('running');
  return body.request_id;
}

async function cancelled(url: string, requestId: string): Promise<void> {
  await post(`${url}/v1/requests/${requestId}/cancel`, {});
  await untilClosed(url, requestId);
}

const activeIn = async (url: string): Promise<number | undefined> =>
  (await get<LaneListing>(`${url}/v1/lanes`)).body.lanes.find(({ name }) => name === LANE)?.active;

test('a submission runs without a job, is counted in its lane, and is cancelled as any other', async () => {
  await using service = await start({ api: true, worker: true });
  const requestId = await running(service.url);
  expect(await jobsOf(service.prefix)).toEqual({ wait: 0, active: 0, delayed: 0 });
  await eventually(() => activeIn(service.url)).toBe(1);
  await cancelled(service.url, requestId);
  await eventually(() => activeIn(service.url)).toBe(0);
});

test('with the worker elsewhere it has a job', async () => {
  await using service = await start({ api: true });
  await using _worker = await start({ worker: true }, service.prefix);
  const requestId = await running(service.url);
  expect(await jobsOf(service.prefix)).toEqual({ wait: 0, active: 1, delayed: 0 });
  await cancelled(service.url, requestId);
});
