/** The client over Node's own HTTP: the same answers and errors as over `fetch`, and `fetch` where a program changed it.
 *  It must never need a service: what a server may answer is said here. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { nodeAsk } from '../../../src/client/node-http.ts';

afterEach(() => vi.unstubAllGlobals());

/** The address of a server that answers so. */
async function served(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const json = { 'content-type': 'application/json; charset=utf-8' };

/** Both ways. */
const clients = [
  ['node:http', (baseUrl: string) => createHttpClient({ baseUrl })],
  ['fetch', (baseUrl: string) => createHttpClient({ baseUrl, fetch: globalThis.fetch })],
] as const;

test.each(clients)('%s sends the body, the headers and the path below its base', async (_, clientOf) => {
  const seen: unknown[] = [];
  const baseUrl = await served((request, response) => {
    const { method, url, headers } = request;
    request.setEncoding('utf8').on('data', (body: string) => {
      const { 'content-type': type, 'content-length': length, accept, 'idempotency-key': key } = headers;
      seen.push({ method, url, type, length: length === String(Buffer.byteLength(body)), accept, key, body });
    });
    request.on('end', () => response.writeHead(202, json).end('{"request_id":"r","directives":[]}'));
  });
  const directive = { type: 'emit_tool_error', tool_name: 't', error: 'ü' } as const;
  const answer = await clientOf(`${baseUrl}/below/`).submit(directive, { idempotencyKey: 'k' });
  expect(answer).toEqual({ request_id: 'r', directives: [] });
  const body = '{"type":"emit_tool_error","tool_name":"t","error":"ü"}';
  const headers = { type: 'application/json', length: true, accept: 'application/json', key: 'k' };
  expect(seen).toEqual([{ method: 'POST', url: '/below/v1/directives', ...headers, body }]);
});

test.each(clients)('over %s a header that cannot be sent is refused', async (_, clientOf) => {
  const client = clientOf('http://127.0.0.1:1');
  const directive = { type: 'emit_tool_error', tool_name: 't', error: 'e' } as const;
  await expect(client.submit(directive, { traceparent: 'a\r\nb: c' })).rejects.toBeInstanceOf(TypeError);
});

test.each(clients)('over %s an answer that is cut off is incomplete', async (_, clientOf) => {
  const baseUrl = await served((_request, response) => {
    response.writeHead(200, { ...json, 'content-length': 100 });
    response.write('{"tools":', () => response.destroy());
  });
  await expect(clientOf(baseUrl).tools()).rejects.toMatchObject({
    name: 'ServiceUnavailable',
    message: 'The answer of the service is incomplete.',
  });
});

test.each(clients)('over %s a refusal keeps its problem and its time', async (_, clientOf) => {
  const busy = { type: 'about:blank', title: 'Busy', status: 503, code: 'unavailable', detail: 'later' };
  const baseUrl = await served((_request, response) =>
    response
      .writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '7' })
      .end(JSON.stringify(busy)),
  );
  await expect(clientOf(baseUrl).tools()).rejects.toMatchObject({ message: 'later', retryAfterMs: 7_000 });
});

test.each(clients)('over %s a page without an end is said to be of another server', async (_, clientOf) => {
  const baseUrl = await served((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).write('<html>'),
  );
  await expect(clientOf(baseUrl).tools()).rejects.toThrow('is not Adjutant (text/html).');
});

test.each(clients)('over %s a redirection is followed', async (_, clientOf) => {
  const baseUrl = await served((request, response) => {
    if (request.url === '/v1/tools') response.writeHead(307, { location: '/elsewhere' }).end();
    else response.writeHead(200, json).end('{"tools":[]}');
  });
  expect(await clientOf(baseUrl).tools()).toEqual({ tools: [] });
});

test.each(clients)('over %s an abort throws its reason, and nobody waits', async (_, clientOf) => {
  const asked = Promise.withResolvers<void>();
  const baseUrl = await served(() => asked.resolve());
  const leaving = new AbortController();
  const waiting = clientOf(baseUrl).result('r', 'd', { signal: leaving.signal });
  await asked.promise;
  leaving.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

test.each(clients)('over %s a service that is not there is unavailable', async (_, clientOf) => {
  await expect(clientOf('http://127.0.0.1:1').tools()).rejects.toThrow('No service answers at');
});

test('a global fetch of the program is used', async () => {
  const stub = vi.fn(async () => Response.json({ tools: [] }));
  vi.stubGlobal('fetch', stub);
  await createHttpClient({ baseUrl: 'http://127.0.0.1:1' }).tools();
  expect(stub).toHaveBeenCalledOnce();
});

test('a dispatcher of the program is used', async () => {
  // Makes Node load what it connects with.
  expect(new Headers()).toBeDefined();
  const all = globalThis as Record<symbol, unknown>;
  const name = Symbol.for('undici.globalDispatcher.1');
  const before = all[name];
  const dispatch = vi.fn(() => {
    throw new Error('of the program');
  });
  class Agent {
    dispatch = dispatch;
  }
  all[name] = new Agent();
  onTestFinished(() => void (all[name] = before));
  const baseUrl = await served((_request, response) => response.writeHead(200, json).end('{"tools":[]}'));
  await expect(createHttpClient({ baseUrl }).tools()).rejects.toThrow('No service answers');
  expect(dispatch).toHaveBeenCalledOnce();
});

const asked = { path: '/v1/tools', method: 'GET', headers: {}, body: undefined, signal: undefined } as const;
const bounds = { connectMs: 10_000, silentMs: 10_000, mostBytes: 1_000 };

test('an answer without an end is refused at its bound', async () => {
  const baseUrl = await served((_request, response) => {
    response.writeHead(200, json);
    const more = (): void => void (response.destroyed || response.write(' '.repeat(400), more));
    more();
  });
  await expect(nodeAsk(baseUrl, bounds)?.(asked)).rejects.toThrow('larger than 1000 bytes');
});

test('a switch of protocols is no answer', async () => {
  const baseUrl = await served((request) => {
    request.socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n');
  });
  await expect(createHttpClient({ baseUrl }).tools()).rejects.toThrow('No service answers');
});

test.each([
  ['does not shake hands', 'https', { ...bounds, connectMs: 50 }, 'did not connect in time'],
  ['says nothing', 'http', { ...bounds, silentMs: 50 }, 'did not answer in time'],
] as const)('a server that %s is not waited for', async (_, protocol, limits, reason) => {
  const server = createTcpServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const base = `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(nodeAsk(base, limits)?.(asked)).rejects.toThrow(reason);
});

test('a fetch that goes through a client of the program is used, whatever its text says', async () => {
  let calls = 0;
  vi.stubGlobal('fetch', async () => {
    calls += 1;
    // As with undici.fetch and its dispatcher.
    return Response.json({ tools: [] });
  });
  await createHttpClient({ baseUrl: 'http://127.0.0.1:1' }).tools();
  expect(calls).toBe(1);
});

test('after a redirection each request is sent to the server before it once', async () => {
  const seen: (string | undefined)[] = [];
  const baseUrl = await served((request, response) => {
    seen.push(request.url);
    if (request.url === '/v1/tools') response.writeHead(307, { location: '/elsewhere' }).end();
    else response.writeHead(200, json).end('{"tools":[]}');
  });
  const client = createHttpClient({ baseUrl });
  await client.tools();
  seen.length = 0;
  await client.tools();
  expect(seen).toEqual(['/v1/tools', '/elsewhere']);
});
