/** The service with the list of requests turned off, on a real Redis, and turned on again.
 *  It must never look for what is noted before the work that would be noted has ended. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { searchFindings } from '../../../src/cli/doctor/search.ts';
import { createChangedRequests } from '../../../src/store/index/changed-requests.ts';
import { keySpace } from '../../../src/store/keys.ts';
import { createListOff } from '../../../src/store/search/list-off.ts';
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
});

test('one walk removes the lists of all tenants, and what a process leaves that kept one meanwhile', async () => {
  const keys = keySpace(`t-${randomUUID()}`);
  const fail = (error: Error): never => expect.unreachable(error.message);
  const changes = createChangedRequests(connection, keys, { isListed: false });
  const scan = vi.spyOn(connection, 'scan');
  onTestFinished(() => scan.mockRestore());
  const off = () => createListOff({ connection, keys, changes, onError: fail });
  for (const requestId of ['search:default', 'f:s']) await connection.set(keys.request(requestId)[0], 'x');
  const tenants = Array.from({ length: 60 }, (_, at) => `t${at}`);
  const list = async (tenant: string) => {
    const [rows, , , , facet] = keys.search(tenant);
    await connection.mset(rows, 'x', `${facet}s:open`, 'x', keys.storedBytes(tenant), 'x');
  };
  await Promise.all(['default', 'unknown', ...tenants].map(list));
  await connection.zadd(keys.searchTenants, ...tenants.flatMap((tenant) => [1, tenant]));
  const left = async () => (await connection.keys(`${keys.prefix}:*`)).toSorted();
  const rest = [keys.request('f:s')[0], keys.request('search:default')[0]];
  const one = off();
  await one.look();
  expect(await left()).toEqual(rest);
  expect(scan.mock.calls.length).toBeLessThan(30);
  scan.mockClear();
  await off().look();
  expect(scan).not.toHaveBeenCalled();
  // Another process builds the list, and ends after the next look.
  await connection.hset(keys.listBuild, 'state', 'building');
  await list('default');
  await one.look();
  expect(scan).not.toHaveBeenCalled();
  await one.look();
  expect(await left()).toEqual(rest);
});

test('the doctor says that it is off, and that this is no fault', () => {
  expect(searchFindings(OFF)).toMatchObject([{ ok: true, says: expect.stringMatching(/^off/) }]);
  expect(searchFindings({ search: { enabled: true } })).toEqual([]);
});
