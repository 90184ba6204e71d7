/** The queue of a service that asks for keys: each job brings a token, which counts as it would over HTTP and is kept nowhere.
 *  It must submit with BullMQ alone. */
import { readFileSync } from 'node:fs';
import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../../src/client/http-client.ts';
import { useKeyedService } from '../../../support/keyed-service.ts';
import { startService } from '../../../support/running-service.ts';
import { startProducer } from '../../../support/queue-producer.ts';
import { shared } from '../../../support/shared.ts';

const { redis, roles, service, ADMIN, make } = useKeyedService();
const environment = { ADJUTANT_ADMIN_KEY: ADMIN };
const producer = shared(async () => startProducer(redis, service.prefix));

/** It ends as it is accepted: this service has no worker. */
const answered = (message: string) => ({
  type: 'emit_tool_error',
  tool_name: 'any',
  error: { type: 'unknown_tool', message },
});
const held = { type: 'tool_exec', tool_name: 'peer.echo', delay_ms: 3_600_000 };

async function refused(data: object): Promise<unknown> {
  const { type } = await producer.failed(await producer.queue.add('job', data));
  return type;
}

test('without a token, or with a wrong one, a job fails as unauthorized', async () => {
  expect(await refused(answered('x'))).toBe('unauthorized');
  expect(await refused({ ...answered('x'), token: `adj_000000000000_${'x'.repeat(43)}` })).toBe(
    'unauthorized',
  );
});

test('scopes, tools and budgets of a key count as over HTTP', async () => {
  const { key: reader } = await make({ scopes: ['read'] });
  expect(await refused({ ...held, token: reader })).toBe('forbidden');
  const { key: limited } = await make({ scopes: ['submit'], tools: ['other.*'] });
  expect(await refused({ ...held, token: limited })).toBe('forbidden');
  const { key: submitter } = await make({ scopes: ['submit'] });
  expect(await refused({ agent: 'default', query: 'x', token: submitter })).toBe('forbidden');
  const { key: spent } = await make({ per_minute: 1 });
  await refused({ ...answered('first'), token: spent });
  const job = await producer.queue.add('job', { ...answered('second'), token: spent });
  // It waits until the key may submit again, and says why.
  await expect
    .poll(async () => (await producer.queue.getJob(job.id ?? ''))?.progress)
    .toMatchObject({ refused: 'rate_limited' });
  expect(await job.getState()).toBe('delayed');
});

test('a job belongs to the tenant of its token', async () => {
  const { key } = await make({ tenant: 'acme' });
  const error = await producer.failed(
    await producer.queue.add('job', { ...answered('of acme'), token: key }),
  );
  expect(error).toMatchObject({ message: 'of acme' });
  const acme = createHttpClient({ baseUrl: service.url, apiKey: key });
  expect((await acme.request(String(error['request_id'])))?.directives).toHaveLength(1);
  const { key: others } = await make();
  const other = createHttpClient({ baseUrl: service.url, apiKey: others });
  expect(await other.request(String(error['request_id']))).toBeNull();
  await Promise.all([acme.close(), other.close()]);
});

test('the end of what another key has submitted needs read', async () => {
  const { key: first } = await make();
  const ids = { request_id: 'of-first', id: 'held' };
  const job = await producer.queue.add('job', { ...held, ...ids, token: first });
  await expect.poll(async () => (await producer.queue.getJob(job.id ?? ''))?.progress).toMatchObject(ids);
  const { key: second } = await make({ scopes: ['submit'] });
  expect(await refused({ ...held, ...ids, token: second })).toBe('forbidden');
  // A progress that a producer writes itself is no proof.
  const forged = await producer.queue.add('job', { ...held, token: second }, { delay: 3_600_000 });
  await forged.updateProgress({ ...ids, tenant: 'default', proof: 'x'.repeat(43) });
  await forged.promote();
  await expect
    .poll(async () => (await producer.queue.getJob(forged.id ?? ''))?.progress)
    .not.toMatchObject({ request_id: 'of-first' });
});

test('a token leaves Redis as the job is accepted, and a job that is taken again needs none', async () => {
  const first = await startService({ redisUrl: redis.url, roles, environment });
  await using own = await startProducer(redis, first.prefix);
  const admin = createAccessClient({ baseUrl: first.url, apiKey: ADMIN });
  const { id: keyId, key } = await admin.create({ name: 'producer', scopes: ['submit'] });
  const job = await own.queue.add('job', { ...held, token: key });
  const stored = async () => own.queue.getJob(job.id ?? '');
  await expect.poll(async () => (await stored())?.data).toEqual(held);
  expect(await textOf(own.queue)).not.toContain(key);
  const { request_id, id } = Object((await stored())?.progress) as { request_id: string; id: string };
  await admin.revoke(keyId);
  await first.stop();
  await using second = await startService({ redisUrl: redis.url, roles, environment, prefix: first.prefix });
  const failure = own.failed(job);
  const client = createHttpClient({ baseUrl: second.url, apiKey: ADMIN });
  await client.cancel(request_id, id);
  expect(await failure).toMatchObject({ type: 'cancelled', request_id, id });
  await Promise.all([admin, client].map(async (each) => ('close' in each ? each.close() : undefined)));
});

test('a Redis user that reaches the queue alone, as the page gives it, submits and waits', async () => {
  const rule = /ACL SETUSER producer (?<rules>.+)`/.exec(readFileSync('docs/queue-api.md', 'utf8'));
  const rules = rule?.groups?.['rules']?.replace('{adjutant:queue}', `{${service.prefix}:queue}`) ?? '';
  const connection = new Redis(redis.url);
  try {
    await connection.call('ACL', 'SETUSER', 'producer', ...rules.split(' '));
    const login = { username: 'producer', password: 'password' };
    await using limited = await startProducer({ port: redis.port, ...login }, service.prefix);
    const { key } = await make();
    const job = await limited.queue.add('job', { ...answered('of the user'), token: key });
    expect(await limited.failed(job)).toMatchObject({ message: 'of the user' });
    const own = new Redis(redis.port, '127.0.0.1', login);
    await expect(own.get(`${service.prefix}:seal`)).rejects.toThrow('NOPERM');
    own.disconnect();
  } finally {
    await connection.quit();
  }
});

/** The jobs and events of the queue. */
async function textOf(queue: Queue): Promise<string> {
  const connection = new Redis(redis.url);
  try {
    const jobs = await queue.getJobs();
    const hashes = await Promise.all(jobs.map(async ({ id = '' }) => connection.hgetall(queue.toKey(id))));
    return JSON.stringify([hashes, await connection.xrange(queue.toKey('events'), '-', '+')]);
  } finally {
    await connection.quit();
  }
}
