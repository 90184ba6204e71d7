/** How many streams of signals one key has open, over a real socket.
 *  It must not count what a reader without a key has open. */
import { expect, test } from 'vitest';
import { createAccessClient } from '../../../src/client/http-client.ts';
import { problemSchema } from '../../../src/contract/problem.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const ADMIN = 'a'.repeat(64);
const redis = useRedis();
const service = shared(async () =>
  startService({
    redisUrl: redis.url,
    roles: { api: true },
    environment: { ADJUTANT_ADMIN_KEY: ADMIN },
    config: { limits: { streams: 2 } },
  }),
);

const REQUEST = { type: 'tool_exec', tool_name: 'peer.echo', request_id: 'followed' };

async function keyOf(name: string): Promise<string> {
  const access = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  return (await access.create({ name, scopes: ['read', 'submit'] })).key;
}

async function openStream(key: string): Promise<{ status: number; code: string | null; close(): void }> {
  const gone = new AbortController();
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
  const url = `${service.url}/v1/requests/followed/signals`;
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
