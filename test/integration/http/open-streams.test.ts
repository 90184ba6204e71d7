/** How many streams of signals, and downloads of archived requests, one caller has open, over a real socket.
 *  It must not read what they hold. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createAccessClient } from '../../../src/client/http-client.ts';
import { problemSchema } from '../../../src/contract/problem.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const ADMIN = 'a'.repeat(64);
const redis = useRedis();
const folder = mkdtempSync(join(tmpdir(), 'adjutant-streams-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const options = { roles: { api: true }, config: { limits: { streams: 2 }, archive: { folder } } };
const service = shared(async () =>
  startService({ ...options, redisUrl: redis.url, environment: { ADJUTANT_ADMIN_KEY: ADMIN } }),
);

const REQUEST = { type: 'tool_exec', tool_name: 'peer.echo', request_id: 'followed' };

async function keyOf(name: string): Promise<string> {
  const access = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  return (await access.create({ name, scopes: ['read', 'submit'] })).key;
}

interface Opened {
  status: number;
  code: string | null;
  close(): void;
}

/** `key` null: none. */
async function openStream(key: string | null, at: { url: string } = service): Promise<Opened> {
  return open(`${at.url}/v1/requests/followed/signals`, key);
}

async function open(url: string, key: string | null): Promise<Opened> {
  const gone = new AbortController();
  const headers = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    accept: 'text/event-stream',
  };
  const response = await fetch(url, { headers, signal: gone.signal });
  const code = response.ok ? null : problemSchema.parse(await response.json()).code;
  return { status: response.status, code, close: () => gone.abort() };
}

// Issue 33, point 7.
test('a key has a bounded number of streams, and the others keep theirs', async () => {
  const [greedy, other] = [await keyOf('greedy'), await keyOf('other')];
  const headers = { authorization: `Bearer ${greedy}`, 'content-type': 'application/json' };
  const body = JSON.stringify(REQUEST);
  const accepted = await fetch(`${service.url}/v1/directives`, { method: 'POST', headers, body });
  expect(accepted.status, await accepted.text()).toBe(202);
  const first = await openStream(greedy);
  const streams = [first, await openStream(greedy)];
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  expect(await openStream(greedy)).toMatchObject({ status: 429, code: 'too_many_open' });
  // Also a download of what is archived is an answer that may never be read.
  const archived = `${service.url}/v1/requests/followed/archive`;
  expect(await open(archived, greedy)).toMatchObject({ status: 429, code: 'too_many_open' });
  expect(await open(archived, other)).toMatchObject({ status: 404 });
  streams.push(await openStream(other));
  expect(streams.at(-1)?.status).toBe(200);
  first.close();
  await expect
    .poll(async () => {
      const again = await openStream(greedy);
      streams.push(again);
      return again.status;
    })
    .toBe(200);
  for (const { close } of streams) close();
});

test('where no key is asked for, an address has a bounded number of streams', async () => {
  await using unkeyed = await startService({ ...options, redisUrl: redis.url });
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(REQUEST) };
  expect((await fetch(`${unkeyed.url}/v1/directives`, init)).status).toBe(202);
  const streams = [await openStream(null, unkeyed), await openStream(null, unkeyed)];
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  expect(await openStream(null, unkeyed)).toMatchObject({ status: 429, code: 'too_many_open' });
  for (const { close } of streams) close();
});
