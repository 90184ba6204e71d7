/** Work of remote directive types over HTTP: who may take it, and which end counts.
 *  Public rule: the operations `takeWork`, `holdWork` and `endWork` of /openapi.json (issue 39, A.1). */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../../src/client/http-client.ts';
import type { SubmittedKey } from '../../../../src/contract/access/access.ts';
import type { TakenWork } from '../../../../src/contract/directive/remote-work.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const ADMIN = randomBytes(32).toString('hex');
const redis = useRedis();
const service = shared(async () =>
  startService({
    redisUrl: redis.url,
    config: {
      remote_directives: { pay: {}, tally: { effect: 'idempotent' }, audit: {} },
      tenants: { acme: {} },
    },
    environment: { ADJUTANT_ADMIN_KEY: ADMIN },
  }),
);

async function send(operation: string, body: object, key = ADMIN): Promise<[number, unknown]> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(`${service.url}/v1/work/${operation}`, init);
  return [response.status, await response.json()];
}

async function submit(type: string, id: string): Promise<void> {
  const client = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  await client.submit({ type, request_id: id, id: 'work', amount: 7 } as never);
  await client.close();
}

async function take(type: string): Promise<TakenWork> {
  const [, { work }] = (await send('take?wait_ms=60000', { types: [type] })) as [number, { work: TakenWork }];
  return work;
}

async function endOf(id: string): Promise<unknown> {
  const client = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  const end = await client.result(id, 'work');
  await client.close();
  return end && 'result' in end.data && end.data.result;
}

const RESULT = { ok: true, payload: 'paid', effects: [] };

test('an end counts from the holder of begun work alone, and once', async () => {
  await submit('pay', 'counted');
  const { type, work_id, token, directive } = await take('pay');
  expect(directive).toMatchObject({ type: 'pay', request_id: 'counted', id: 'work', amount: 7 });
  const held = { type, work_id, token };
  const end = { ...held, result: RESULT };
  expect(await send('end', end)).toEqual([200, { state: 'lost' }]);
  expect(await send('hold', { ...held, token: 'another' })).toEqual([200, { state: 'lost' }]);
  expect(await send('hold', held)).toEqual([200, { state: 'held' }]);
  expect(await send('end', { ...end, token: 'another' })).toEqual([200, { state: 'lost' }]);
  expect(await send('end', { ...end, result: { ok: 'maybe' } })).toMatchObject([400, {}]);
  expect(await send('end', end)).toEqual([200, { state: 'recorded' }]);
  const other = { ...end, result: { ...RESULT, payload: 'other' } };
  expect(await send('end', other)).toEqual([200, { state: 'recorded' }]);
  expect(await endOf('counted')).toEqual(RESULT);
});

test('a directive that no program takes says so, until one asks', async () => {
  const client = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  const laneOf = async () => (await client.lanes()).lanes.find(({ name }) => name === 'custom.audit');
  await submit('audit', 'unserved');
  const read = async () => client.directive('unserved', 'work');
  await expect.poll(read, { timeout: 60_000 }).toMatchObject({
    status: 'waiting',
    waiting: {
      reason: 'no_program',
      message:
        'no program asks for the directives of the lane custom.audit: none has asked for work in the last day',
    },
  });
  expect(await laneOf()).toMatchObject({
    waits: { reason: 'no_program' },
    programs: { asked_at: null, waiting: 1 },
  });
  const said = async () => (await client.page('unserved')).signals.map(({ type }) => type);
  await expect.poll(said, { timeout: 60_000 }).toContain('directive.waiting');
  await take('audit');
  const after = await laneOf();
  expect(after).toMatchObject({ programs: { asked_at: expect.any(String), waiting: 0 } });
  expect(after).not.toHaveProperty('waits');
  expect(await read()).not.toHaveProperty('waiting');
  await client.close();
});

// A stop waited its whole drain for a program that did not come.
test('a worker that stops gives back at once what no program has taken, and it costs no attempt', async () => {
  const config = { remote_directives: { audit: {} }, mcpServers: {}, worker: { drain_ms: 600_000 } };
  const environment = { ADJUTANT_ADMIN_KEY: ADMIN };
  await using other = await startService({ redisUrl: redis.url, config, environment });
  const client = createHttpClient({ baseUrl: other.url, apiKey: ADMIN });
  const read = async () => client.directive('left', 'work');
  await client.submit({ type: 'audit', request_id: 'left', id: 'work' } as never);
  await expect.poll(read, { timeout: 60_000 }).toMatchObject({ waiting: { reason: 'no_program' } });
  await client.close();
  await other.stop();
  await using next = await startService({ redisUrl: redis.url, prefix: other.prefix, config, environment });
  const reader = createHttpClient({ baseUrl: next.url, apiKey: ADMIN });
  const again = async () => reader.directive('left', 'work');
  await expect.poll(again, { timeout: 60_000 }).toMatchObject({ status: 'waiting', attempts: 1 });
  await reader.close();
});

test('work that was cancelled does not begin, and its end has no effect', async () => {
  await submit('pay', 'unwanted');
  const { type, work_id, token } = await take('pay');
  const client = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
  await client.cancel('unwanted', 'work');
  // It was not begun, so that nothing is in doubt.
  const end = await endOf('unwanted');
  expect(end).toMatchObject({ ok: false, error: { type: 'cancelled' } });
  expect(JSON.stringify(end)).not.toContain('unknown');
  await client.close();
  expect(await send('hold', { type, work_id, token })).toEqual([200, { state: 'cancelled' }]);
  expect(await send('end', { type, work_id, token, result: RESULT })).toEqual([200, { state: 'cancelled' }]);
});

test('work is for keys of the default tenant with the scope, which name the type', async () => {
  const access = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  const statusOf = async (key: Partial<SubmittedKey>): Promise<number> => {
    const made = await access.create({ name: 'worker', scopes: ['work'], ...key });
    const [status] = await send('take', { types: ['tally'] }, made.key);
    return status;
  };
  expect(await statusOf({})).toBe(200);
  expect(await statusOf({ tools: ['custom.tally'] })).toBe(200);
  expect(await statusOf({ tools: ['custom.pay'] })).toBe(403);
  expect(await statusOf({ scopes: ['submit', 'read'] })).toBe(403);
  expect(await statusOf({ tenant: 'acme' })).toBe(403);
  expect(await send('take', { types: ['unknown'] })).toMatchObject([404, { code: 'not_found' }]);
});
