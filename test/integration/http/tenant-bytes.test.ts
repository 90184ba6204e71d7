/** What all requests of a tenant hold is bounded: submissions are refused until retention frees some.
 *  It must not rely on how long that takes. */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../src/client/http-client.ts';
import { SCOPES } from '../../../src/contract/access/access.ts';
import { keySpace } from '../../../src/store/keys.ts';
import { eventually } from '../../support/eventually.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const LIMIT = 65_536;
const ADMIN = 'x'.repeat(40);
const service = shared(async () =>
  startService({
    redisUrl: redis.url,
    environment: { ADJUTANT_ADMIN_KEY: ADMIN },
    config: { tenants: { acme: { stored_bytes: LIMIT, closed_ms: 1_000 }, free: { closed_ms: 60_000 } } },
  }),
);

async function clientOf(tenant: string) {
  const admin = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  const { key } = await admin.create({ name: tenant, tenant, scopes: [...SCOPES] });
  return createHttpClient({ baseUrl: service.url, apiKey: key });
}

test('above it nothing is submitted, what runs ends, and there is room when closed requests have gone', async () => {
  const [acme, free] = [await clientOf('acme'), await clientOf('free')];
  await using connection = Object.assign(new Redis(redis.url), {
    [Symbol.asyncDispose]: async () => void (await connection.quit()),
  });
  const keys = keySpace(service.prefix);
  const call = (tool: string, text = '') =>
    ({ type: 'tool_exec', tool_name: `peer.${tool}`, arguments: { text } }) as const;
  const usedBytes = async () => (await acme.requests({ limit: 1 })).counts.stored_bytes?.used ?? -1;

  // One that stays open keeps what it holds.
  const open = await acme.submit({ ...call('wait'), arguments: { padding: 'x'.repeat(LIMIT) } });
  await eventually(usedBytes).toBeGreaterThan(LIMIT);
  const refusal = { problem: { code: 'tenant_full', limit: 'stored_bytes', limit_bytes: LIMIT } };
  // What a submitter knows of it is a moment old.
  await eventually(async () =>
    acme.submit(call('echo', 'a')).then(
      () => 'accepted',
      (error: unknown) => error,
    ),
  ).toMatchObject(refusal);
  await free.submit(call('echo', 'a'));
  expect((await free.requests({ limit: 1 })).counts.stored_bytes).toBe(undefined);
  expect(await connection.exists(keys.storedBytes('free'))).toBe(0);

  await acme.cancel(open.request_id);
  await eventually(async () => (await acme.request(open.request_id))?.status ?? 'gone').not.toBe('open');
  const { '': sum, ...parts } = await connection.hgetall(keys.storedBytes('acme'));
  const ofParts = Object.values(parts).reduce((total, part) => total + Number(part), 0);
  expect(Number(sum ?? 0)).toBe(ofParts);
  await eventually(usedBytes).toBe(0);
  expect(await connection.exists(keys.storedBytes('acme'))).toBe(0);
  await eventually(async () => acme.submit(call('echo', 'a')).then(() => 'accepted', String)).toBe(
    'accepted',
  );
});
