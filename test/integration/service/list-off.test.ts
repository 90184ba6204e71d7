/** The service with the list of requests turned off, on a real Redis, and turned on again.
 *  It must never look for what is noted before the work that would be noted has ended. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { searchFindings } from '../../../src/doctor/search.ts';
import { keySpace } from '../../../src/journal/keys.ts';
import { eventually } from '../../support/eventually.ts';
import { startService } from '../../support/running-service.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
const OFF = { search: { enabled: false } };
let connection: Redis;
beforeAll(() => {
  connection = new Redis(redis.url);
});
afterAll(() => connection.disconnect());

async function call(url: string): Promise<string> {
  const client = createHttpClient({ baseUrl: url });
  const request_id = randomUUID();
  await client.execute({ type: 'tool_exec', tool_name: 'peer.echo', arguments: {}, request_id });
  await client.close();
  return request_id;
}

async function listed(url: string): Promise<string[]> {
  const client = createHttpClient({ baseUrl: url });
  const { requests } = await client.requests();
  await client.close();
  return requests.map(({ request_id }) => request_id);
}

async function refused(url: string, path: string, body?: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const sent = body ? { method: 'POST', headers, body: JSON.stringify(body) } : {};
  const response = await fetch(url + path, sent);
  const problem = (await response.json()) as { code: string; detail: string };
  expect([path, response.status, problem.code]).toEqual([path, 409, 'search_off']);
  expect(problem.detail).toMatch(/`search\.enabled`.*build the list/s);
}

async function ofList(prefix: string): Promise<string[]> {
  const found = await connection.keys(`${prefix}:*`);
  return found.filter((key) => /:search|:changed-requests/.test(key.slice(prefix.length)));
}

test('without the list nothing is noted, what asks for it is refused with a way out, and what was there goes; turned on it builds itself', async () => {
  const before = await startService({ redisUrl: redis.url });
  const { prefix } = before;
  const first = await call(before.url);
  await eventually(() => listed(before.url)).toEqual([first]);
  // What is noted and not taken stays until it is overdue.
  await eventually(() => connection.zcard(keySpace(prefix).changedRequests)).toBe(0);
  await before.stop();

  const off = await startService({ redisUrl: redis.url, prefix, config: OFF });
  await eventually(() => ofList(prefix)).toEqual([]);
  const second = await call(off.url);
  for (const path of ['/v1/requests', '/v1/approvals']) await refused(off.url, path);
  await refused(off.url, '/v1/requests/cancel', { all: true });
  await refused(off.url, '/v1/requests/redrive', { filter: { status: 'failed' } });
  await refused(off.url, '/v1/reindex', {});
  const ready = await fetch(`${off.url}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([200, { checks: { search: expect.any(String) } }]);
  expect((await fetch(`${off.url}/v1/requests/${second}`)).status).toBe(200);
  // What is no figure of the list stays.
  expect(await (await fetch(`${off.url}/metrics`)).text()).toMatch(/^adjutant_schedule_lag_seconds\b/m);
  // The end of what was accepted is forgotten by the sweeper's index together with its note.
  await eventually(() => connection.zcard(keySpace(prefix).sweep)).toBe(0);
  await off.stop();
  expect(await ofList(prefix)).toEqual([]);

  const after = await startService({ redisUrl: redis.url, prefix });
  await eventually(() => listed(after.url)).toEqual([second, first]);
  await after.stop();
}, 30_000);

test('the doctor says that it is off, and that this is no fault', () => {
  expect(searchFindings(OFF)).toMatchObject([{ ok: true, says: expect.stringMatching(/^off/) }]);
  expect(searchFindings({ search: { enabled: true } })).toEqual([]);
});
