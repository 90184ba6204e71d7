/** Requests that are written only while something holds, against a real HTTP server. It must never look at how they wait. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { heldBack, type Holds, whileItHolds } from '../../../../src/platform/bounds/while-it-holds.ts';
import { createPace } from '../../../../src/mcp/pace.ts';
import { createHttpFetch } from '../../../../src/mcp/transport/http-fetch.ts';
import { eventually } from '../../../support/eventually.ts';
import { shared } from '../../../support/shared.ts';

/** What arrived whole. */
const arrived: { length: string | undefined; type: string | undefined; text: string }[] = [];

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const text = await readText(request);
    const { 'content-length': length, 'content-type': type } = request.headers;
    arrived.push({ length, type, text });
    response.end('ok');
  } catch {
    // Its sender did not go on.
  }
}

const server = shared(async () => {
  const http = createServer((request, response) => void answer(request, response));
  let connections = 0;
  http.on('connection', () => (connections += 1));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
  return {
    url,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      http.close();
    },
  };
});

const send = async (body: string): Promise<string> => {
  const headers = { 'content-type': 'application/json' };
  return (await fetch(server.url, heldBack({ method: 'POST', headers, body }))).text();
};

const sent = async (holds: Holds | undefined, body: string): Promise<string> =>
  whileItHolds(holds, async () => send(body));

test('what holds is sent as it would be without', async () => {
  arrived.length = 0;
  for (const holds of [undefined, () => true]) expect(await sent(holds, '{"a":"ü"}')).toBe('ok');
  const whole = { length: '10', type: 'application/json', text: '{"a":"ü"}' };
  expect(arrived).toEqual([whole, whole]);
});

test('what does not hold any more when there is a connection fails, and does not arrive', async () => {
  arrived.length = 0;
  await expect(sent(() => false, '{}')).rejects.toThrow('fetch failed');
  expect(await sent(() => true, '{"next":1}')).toBe('ok');
  expect(arrived.map(({ text }) => text)).toEqual(['{"next":1}']);
});

// Issue 38: servers that tenants add are reached by a fetch of their own.
test('a request to a checked address is refused at its connection, not before it', async () => {
  arrived.length = 0;
  const connections = server.connections();
  const pace = createPace();
  const post = createHttpFetch({ pace, privateAddresses: true, onRefused: () => {} });
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' };
  await expect(
    whileItHolds(
      () => false,
      async () => post(server.url, init),
    ),
  ).rejects.toThrow('not held');
  await eventually(async () => server.connections() - connections).toBe(1);
  expect(arrived).toEqual([]);
});

test('only the first request of a call is held back', async () => {
  arrived.length = 0;
  let asked = 0;
  await whileItHolds(
    () => (asked += 1) === 1,
    async () => [await send('{"first":1}'), await send('{"second":1}')],
  );
  expect([asked, arrived.length]).toEqual([1, 2]);
});
