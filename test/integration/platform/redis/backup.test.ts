/** A copy of the append-only file, taken while the service works, is a backup: docs/operations.md has the same steps.
 *  It must never stop the Redis that is copied. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { eventually } from '../../../support/eventually.ts';
import { get, post } from '../../../support/public-api.ts';
import { startRedis } from '../../../support/redis.ts';
import { type RunningService, startService } from '../../../support/running-service.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis({ appendonly: true, appendfsync: 'always' });

interface Ended {
  readonly status: string;
  readonly redeliveries: number;
}

async function submit({ url }: RunningService, id: string): Promise<void> {
  const call = { type: 'tool_exec', request_id: 'kept', id, tool_name: 'peer.echo', arguments: { text: id } };
  const { status } = await post(`${url}/v1/directives`, call);
  expect(status).toBe(202);
}

async function ended({ url }: RunningService, id: string): Promise<Ended> {
  const { status, body } = await get<Ended>(`${url}/v1/requests/kept/directives/${id}?wait_ms=30000`);
  expect(status).toBe(200);
  return body;
}

/** The files are not replaced while they are copied. */
async function copyInto(folder: string): Promise<void> {
  const admin = new Redis(redis.url);
  await admin.config('SET', 'auto-aof-rewrite-percentage', '0');
  await eventually(() => admin.info('persistence')).toContain('aof_rewrite_in_progress:0');
  await cp(join(redis.dir, 'appendonlydir'), join(folder, 'appendonlydir'), { recursive: true });
  await admin.config('SET', 'auto-aof-rewrite-percentage', '100');
  admin.disconnect();
}

test('what had ended can be read from the copy, and what waited is done there once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-backup-'));
  const whole = await startService({ redisUrl: redis.url });
  await submit(whole, 'before');
  expect(await ended(whole, 'before')).toMatchObject({ status: 'succeeded' });
  await whole.stop();
  const { prefix } = whole;
  await using api = await startService({ redisUrl: redis.url, roles: { api: true }, prefix });
  await submit(api, 'waiting');
  await copyInto(folder);
  await submit(api, 'later');

  await using restored = await startRedis({ dir: folder, appendonly: true, appendfsync: 'always' });
  const again = await startService({ redisUrl: restored.url, prefix });
  expect(await ended(again, 'before')).toMatchObject({ status: 'succeeded', redeliveries: 0 });
  expect(await ended(again, 'waiting')).toMatchObject({ status: 'succeeded', redeliveries: 0 });
  expect((await get(`${again.url}/v1/requests/kept/directives/later`)).status).toBe(404);
  await again.stop();
  await rm(folder, { recursive: true });
});
