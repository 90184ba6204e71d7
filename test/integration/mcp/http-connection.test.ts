/** Calls over HTTP when a session is lost, and when a server dies, refuses, or returns.
 *  It must never look at the pool's internals: only calls, events and what the server saw count. */
import { mkdtemp, readFile } from 'node:fs/promises';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHttpFetch } from '../../../src/mcp/transport/http-fetch.ts';
import { createPace } from '../../../src/mcp/pace.ts';
import { type Opened, openSession } from '../../../src/mcp/open-session.ts';
import type { McpServerOptions } from '../../../src/mcp/server-options.ts';
import { freePort } from '../../support/process.ts';
import { failureOf, openPool, textOf } from '../../support/mcp-pool.ts';
import {
  type HttpServer,
  startEverything,
  startLegacyPeer,
  startModernPeer,
} from '../../support/mcp-servers.ts';
import { startKeyedServer } from '../../support/keyed-server.ts';
import { shared } from '../../support/shared.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';

/** For tests that leave them as they are; a test that kills or configures its server starts one of its own. */
const legacy = shared(async () => startLegacyPeer());
const modern = shared(async () => startModernPeer());

async function served(starting: Promise<HttpServer>): Promise<HttpServer> {
  const server = await starting;
  onTestFinished(async () => void (await server.child.kill9()));
  return server;
}

function withHeaders(options: McpServerOptions, headers: Record<string, string>): McpServerOptions {
  if (options.transport.kind !== 'http') throw new Error('An HTTP server is expected.');
  return { ...options, transport: { ...options.transport, headers } };
}

test('a wrong path is reported with the status and the address, without what may be a key', async () => {
  const server = createServer((_request, response) => void response.writeHead(404).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const path = `http://127.0.0.1:${port}/wrong`;
  const url = `${path}/${'k'.repeat(25)}?token=secret-value`;
  const opened = await openSession({
    server: { ...legacy.options, transport: { kind: 'http', url, headers: {} } },
    memory: { legacyOnly: false, sseOnly: false, announced: 0 },
    probeTimeoutMs: 5_000,
    stopped: new AbortController().signal,
    logger: SILENT,
  });
  expect(opened).toMatchObject({ ok: false, fault: { type: 'network', message: `HTTP 404 at ${path}/…` } });
});

// keryx 503, neotoma 1923, mcp-proxy 149: not every server reports a lost session by 404.
test.each([404, 400, 401, 410, 422, 500, 503])(
  'a lost session, reported by %i, is opened again and the refused call repeated',
  async (status) => {
    const peer = await served(startLegacyPeer({ PEER_UNKNOWN_SESSION: String(status) }));
    const { call, statuses } = openPool(peer.options);
    await call('echo');
    await fetch(`${peer.origin}/forget`);
    const sent: number[] = [];
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        call('echo', { index }, { onSent: () => sent.push(index) }),
      ),
    );
    expect(outcomes.map(textOf)).toEqual(Array.from({ length: 20 }, (_, index) => `{"index":${index}}`));
    expect(sent).toHaveLength(20);
    expect(statuses.filter(({ status: name }) => name === 'ready')).toHaveLength(2);
  },
);

test('a call that the lost session had accepted still gets its answer', async () => {
  const { call, statuses } = openPool(legacy.options);
  await call('echo');
  const started = Promise.withResolvers<void>();
  const long = call('beat', { beats: 5, everyMs: 100 }, { onProgress: () => started.resolve() });
  await started.promise;
  await fetch(`${legacy.origin}/forget`);
  expect(textOf(await call('echo'))).toBe('{}');
  expect(statuses.filter(({ status }) => status === 'ready')).toHaveLength(2);
  expect(textOf(await long)).toBe('done');
});

test('a restarted server-everything, which knows no session, is reconnected', async () => {
  const first = await startEverything('streamableHttp');
  const { call } = openPool(first.options);
  expect(textOf(await call('echo', { message: 'one' }))).toContain('one');
  await first.child.kill9();
  const failed = failureOf(await call('echo', { message: 'two' }, { timeoutMs: 500 }));
  expect(failed.error.type).toBe('network');
  const port = new URL(first.origin).port;
  const again = await served(startEverything('streamableHttp', port));
  expect(again.origin).toBe(first.origin);
  expect(textOf(await call('echo', { message: 'three' }))).toContain('three');
});

test.each([
  ['legacy', startLegacyPeer],
  ['modern', startModernPeer],
])('a %s server killed during a call fails it as network and sent', async (_, start) => {
  const peer = await served(start());
  const { call } = openPool(peer.options);
  await call('events');
  const waiting = call('wait');
  await call('events');
  await peer.child.kill9();
  expect(failureOf(await waiting)).toMatchObject({ sent: true, error: { type: 'network', retryable: true } });
});

test.each([
  ['legacy', () => legacy, 'cancelled: cancelled', 'cancelled: timed_out'],
  ['modern', () => modern, 'cancelled', 'cancelled'],
])('a cancel and a timeout reach a %s server', async (_, server, afterCancel, afterTimeout) => {
  const pool = openPool(server().options);
  const abort = new AbortController();
  const waiting = pool.call('wait', {}, { signal: abort.signal });
  await seen(pool, 'waiting');
  abort.abort();
  expect(failureOf(await waiting)).toMatchObject({ sent: true, error: { type: 'cancelled' } });
  await seen(pool, 'waiting', afterCancel);
  expect(failureOf(await pool.call('wait', {}, { timeoutMs: 1_000 })).error.type).toBe('timeout');
  await seen(pool, 'waiting', afterCancel, 'waiting', afterTimeout);
});

/** The last events of the server. Each request has its own connection, so one may overtake another. */
async function seen({ call }: ReturnType<typeof openPool>, ...events: string[]): Promise<void> {
  let last: unknown[] = [];
  while (!isDeepStrictEqual(last, events))
    last = (JSON.parse(textOf(await call('events'))) as unknown[]).slice(-events.length);
}

test('a call over HTTP that may not begin any more as it is written does not arrive', async () => {
  await using server = await startKeyedServer();
  const transport = { kind: 'http', url: server.url, headers: {} } as const;
  const { call } = openPool({ ...legacy.options, transport });
  const work = { key: 'k', label: 'begun' };
  expect(textOf(await call('work', work, { mayBegin: async () => () => true }))).toBe('begun');
  const lost = new AbortController();
  const holds = (): boolean => {
    lost.abort();
    return false;
  };
  const lapsed = { signal: lost.signal, mayBegin: async () => holds };
  expect(failureOf(await call('work', { ...work, label: 'lapsed' }, lapsed))).toMatchObject({
    sent: false,
    error: { type: 'cancelled' },
  });
  expect(textOf(await call('work', { ...work, label: 'next' }))).toBe('next');
  expect(server.calls.map(({ label }) => label)).toEqual(['begun', 'next']);
});

test('stop cancels what is in flight and ends the session', async () => {
  const log = join(await mkdtemp(join(tmpdir(), 'adjutant-mcp-')), 'events.log');
  const peer = await served(startLegacyPeer({ PEER_LOG: log }));
  const pool = openPool(peer.options);
  const waiting = pool.call('wait');
  await seen(pool, 'waiting');
  await pool.pool.stop();
  expect(failureOf(await waiting)).toMatchObject({ sent: true, error: { type: 'network' } });
  expect(await readFile(log, 'utf8')).toContain('session ended by the client');
});

test('a change of the tools between the first list and the subscription is seen', async () => {
  const peer = await served(startModernPeer({ PEER_GROWS: 'unseen' }));
  const { pool, listings, until } = openPool(peer.options);
  pool.start();
  await until(() => listings.some(({ tools }) => tools.some(({ name }) => name === 'extra-1')));
  expect(listings[0]?.tools.map(({ name }) => name)).not.toContain('extra-1');
});

test('progress keeps a call over HTTP alive', async () => {
  const { call } = openPool(legacy.options);
  await call('events');
  const notes: number[] = [];
  const args = { beats: 10, everyMs: 250 };
  const more = {
    timeoutMs: 2_000,
    onProgress: ({ progress }: { progress: number }) => void notes.push(progress),
  };
  expect(textOf(await call('beat', args, more))).toBe('done');
  expect(notes).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test.each([
  ['legacy', startLegacyPeer],
  ['modern', startModernPeer],
])('a %s server that announces a change is listed again', async (_, start) => {
  const peer = await served(start());
  const { call, listings, until } = openPool(peer.options);
  await call('grow');
  await until(() => listings.some(({ tools }) => tools.some((tool) => tool.name === 'extra-1')));
  expect(textOf(await call('extra-1'))).toBe('extra');
});

test('sends its headers; a wrong token is auth, at once, and never retried', async () => {
  const peer = await served(startLegacyPeer({ PEER_TOKEN: 'secret' }));
  const right = openPool(withHeaders(peer.options, { Authorization: 'Bearer secret' }));
  expect(textOf(await right.call('echo'))).toBe('{}');
  const wrong = openPool(withHeaders(peer.options, { Authorization: 'Bearer wrong' }));
  const failed = failureOf(await wrong.call('echo'));
  expect(failed).toMatchObject({ sent: false, error: { type: 'auth', retryable: false } });
});

test('a missing listener is network and unsent, with the reason', async () => {
  const url = `http://127.0.0.1:${await freePort()}/mcp`;
  const { call, pool, until } = openPool({ name: 'none', transport: { kind: 'http', url, headers: {} } });
  pool.start();
  await until(() => pool.status('none') === 'unavailable');
  const failed = failureOf(await call('echo', {}, { timeoutMs: 50 }));
  expect(failed).toMatchObject({ sent: false, error: { type: 'network', retryable: true } });
  expect(failed.error.message).toContain('ECONNREFUSED');
});

/** A proxy that answers each tools/call as the test says, and passes everything else on. */
async function front(
  onCall: (response: ServerResponse) => void,
  ignoresCancel = false,
): Promise<McpServerOptions> {
  const server = createServer((request, response) => void relay(request, response, onCall, ignoresCancel));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { name: 'front', transport: { kind: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: {} } };
}

async function relay(
  request: IncomingMessage,
  response: ServerResponse,
  onCall: (response: ServerResponse) => void,
  ignoresCancel: boolean,
): Promise<void> {
  const body = Buffer.concat(await request.toArray()).toString();
  if (body.includes('"tools/call"')) return onCall(response);
  if (ignoresCancel && body.includes('notifications/cancelled')) return;
  if (request.method === 'GET') return void response.writeHead(405).end();
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => /^(accept|content-type|mcp-.*)$/.test(name)),
  ) as Record<string, string>;
  const init = { method: request.method ?? 'POST', headers, ...(body === '' ? {} : { body }) };
  const answer = await fetch(`${legacy.origin}/mcp`, init);
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
}

test.each([
  [
    '429 with seconds',
    429,
    { 'retry-after': '7' },
    { type: 'rate_limited', retryable: true, sent: false, ms: 7_000 },
  ],
  [
    '503 with seconds',
    503,
    { 'retry-after': '2' },
    { type: 'provider_error', retryable: true, sent: true, ms: 2_000 },
  ],
  ['500', 500, {}, { type: 'provider_error', retryable: true, sent: true, ms: undefined }],
  ['403', 403, {}, { type: 'auth', retryable: false, sent: false, ms: undefined }],
  ['413', 413, {}, { type: 'executor', retryable: false, sent: false, ms: undefined }],
])('HTTP %s has its own error', async (_, status, headers, expected) => {
  const options = await front((response) => response.writeHead(status, headers).end('no'));
  const { call } = openPool(options);
  const { error, sent } = failureOf(await call('echo'));
  const { type, retryable, details } = error;
  expect({ type, retryable, sent, ms: details['retry_after_ms'] }).toEqual(expected);
});

test('a response stream that ends, or breaks, without the answer fails its call and no other', async () => {
  let calls = 0;
  const options = await front((response) => {
    calls += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (calls === 1) response.end(': nothing\n\n');
    else response.write(': nothing\n\n', () => response.destroy());
  });
  const { call, statuses } = openPool(options);
  const ended = failureOf(await call('echo'));
  expect(ended).toMatchObject({ sent: true, error: { type: 'network' } });
  const broken = failureOf(await call('echo'));
  expect(broken).toMatchObject({ sent: true, error: { type: 'network' } });
  expect(statuses.map(({ status }) => status)).toEqual(['ready']);
});

test.each([
  ['', false],
  [', though the cancellation is not answered', true],
])('a timed-out call closes its stream%s', async (_, ignoresCancel) => {
  const closed = Promise.withResolvers<void>();
  const options = await front((response) => {
    response.once('close', () => closed.resolve());
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': waiting\n\n');
  }, ignoresCancel);
  const { pool, call, until } = openPool(options);
  pool.start();
  await until(() => pool.status('front') === 'ready');
  expect(failureOf(await call('echo', {}, { timeoutMs: 400 })).error.type).toBe('timeout');
  await closed.promise;
});

test('an answer that is not JSON is invalid_result', async () => {
  const options = await front((response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  );
  const { call } = openPool(options);
  expect(failureOf(await call('echo'))).toMatchObject({ sent: true, error: { type: 'invalid_result' } });
});

test.each(['application/json', 'text/event-stream'])(
  'an oversized answer as %s fails that call alone, as invalid_result',
  async (type) => {
    const options = await front((response) => {
      response.on('error', () => {});
      response.writeHead(200, { 'content-type': type });
      for (let megabyte = 0; megabyte < 20; megabyte += 1) response.write('x'.repeat(1024 * 1024));
      response.end();
    });
    const { call, statuses } = openPool(options);
    expect(failureOf(await call('echo'))).toMatchObject({ sent: true, error: { type: 'invalid_result' } });
    expect(statuses.map(({ status }) => status)).toEqual(['ready']);
  },
);

test('stop returns while connecting to a server that never answers', async () => {
  const asked = Promise.withResolvers<void>();
  const server = createServer(() => asked.resolve()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}/mcp`;
  const { pool, call } = openPool({ name: 'silent', transport: { kind: 'http', url, headers: {} } });
  const waiting = call('echo');
  await asked.promise;
  await pool.stop();
  expect(failureOf(await waiting)).toMatchObject({ sent: false, error: { type: 'network' } });
});

test('a broken SSE connection fails its calls and is opened again', async () => {
  const first = await startEverything('sse');
  const { call, until, statuses } = openPool(first.options);
  await call('echo', { message: 'one' });
  const waiting = call('trigger-long-running-operation', { duration: 20, steps: 1 });
  await call('echo', { message: 'two' });
  await first.child.kill9();
  expect(failureOf(await waiting)).toMatchObject({ sent: true, error: { type: 'network' } });
  await until(() => statuses.at(-1)?.status === 'unavailable');
  await served(startEverything('sse', new URL(first.origin).port));
  expect(textOf(await call('echo', { message: 'three' }))).toContain('three');
});

describe('a server of the old transport that never names its endpoint', () => {
  async function silent(): Promise<McpServerOptions> {
    const server = createServer((request, response) => {
      if (request.method !== 'GET') return void response.writeHead(405).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => server.close().closeAllConnections());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return { name: 'silent', transport: { kind: 'http', url: `http://127.0.0.1:${port}/sse`, headers: {} } };
  }
  const open = async (stopped: AbortSignal, connectMs?: number): Promise<Opened> =>
    openSession({
      server: await silent(),
      memory: { legacyOnly: false, sseOnly: true, announced: 0 },
      probeTimeoutMs: 2_000,
      stopped,
      logger: SILENT,
      ...(connectMs === undefined ? {} : { connectMs }),
    });

  test('is abandoned, with the reason', async () => {
    const opened = await open(new AbortController().signal, 50);
    expect(opened).toMatchObject({
      ok: false,
      fault: { type: 'network', message: 'The handshake took longer than 50 ms', passing: true },
    });
  });

  test('does not delay a stop', async () => {
    expect(await open(AbortSignal.timeout(50))).toMatchObject({ ok: false });
  });
});

type Answer = (
  message: { method: string; params?: { name?: string } },
  request: IncomingMessage,
) => object | null;

/** A server in plain Node, as frameworks without the SDK are. `answer`: the members of what it answers; null: as usual. */
async function startPlain(answer: Answer, onGet: (response: ServerResponse) => void) {
  const seen: string[] = [];
  const usual: Record<string, object> = {
    initialize: {
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'plain', version: '1' },
      },
    },
    'tools/list': { result: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } },
    'tools/call': { result: { content: [{ type: 'text', text: 'said' }] } },
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    seen.push(
      request.method === 'POST' ? (JSON.parse(body) as { method: string }).method : String(request.method),
    );
    if (request.method === 'GET') return onGet(response);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(body) as { id?: number; method: string };
    if (message.id === undefined) return void response.writeHead(202).end();
    const refusal = { error: { code: -32_601, message: 'Method not found' } };
    const members = answer(message, request) ?? usual[message.method] ?? refusal;
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'known' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...members }));
  };
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { seen, options: { name: 'plain', transport: { kind: 'http' as const, url, headers: {} } } };
}

// typescript-sdk 1635, agent-framework 7656, LibreChat 11868.
test.each([404, 500])('a stream refused by %i and a ping that is not known cut no call', async (status) => {
  const pinged = Promise.withResolvers<void>();
  const peer = await startPlain(
    ({ method }) => {
      if (method === 'ping') pinged.resolve();
      return null;
    },
    (response) => void response.writeHead(status, { 'content-type': 'text/html' }).end('Cannot GET /mcp'),
  );
  const { call, statuses } = openPool(peer.options);
  await call('echo');
  await pinged.promise;
  expect(textOf(await call('echo'))).toBe('said');
  expect(statuses.filter(({ status: name }) => name === 'ready')).toHaveLength(1);
});

test('an answer of 200 that is no stream is not asked for again', async () => {
  const url = await new Promise<string>((resolve) => {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('It works!');
    }).listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
    onTestFinished(() => void server.close());
  });
  const fetchHere = createHttpFetch({ pace: createPace(), onRefused: () => {} });
  expect((await fetchHere(url)).status).toBe(405);
  const resumed = await fetchHere(url, { headers: { 'last-event-id': '7' } });
  expect(resumed.status).toBe(200);
  await resumed.text();
});

// Issue 38, point 7: what a tenant adds follows the address rules of webhooks, whatever its host redirects to.
test('a server of a tenant is reached at public addresses only, and redirects are not followed', async () => {
  const asked: string[] = [];
  const url = await new Promise<string>((resolve) => {
    const server = createServer(({ url: path = '' }, response) => {
      asked.push(path);
      response.writeHead(302, { location: '/elsewhere' }).end();
    }).listen(0, '127.0.0.1', () => resolve(`http://localhost:${(server.address() as AddressInfo).port}/`));
    onTestFinished(() => void server.close());
  });
  const fetchWith = (privateAddresses: boolean) =>
    createHttpFetch({ pace: createPace(), onRefused: () => {}, privateAddresses });
  await expect(fetchWith(false)(url, { method: 'POST', body: '{}' })).rejects.toThrow('no public address');
  expect(asked).toEqual([]);
  expect((await fetchWith(true)(url, { method: 'POST', body: '{}' })).status).toBe(302);
  expect(asked).toEqual(['/']);
});

// Issue 38, point 7: a host of a tenant must not keep connections of a worker open by answers that nothing reads.
test.each([205, 999])('an answer of %i is not read, and its connection is closed', async (status) => {
  const closed = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    response.on('close', () => closed.resolve());
    response.writeHead(status, { 'content-length': '1000000' }).write('x');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const send = createHttpFetch({ pace: createPace(), onRefused: () => {}, privateAddresses: true });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await send(url, { method: 'POST', body: '{}' }).catch(() => {});
  await closed.promise;
});

describe('a JSON-RPC error about a session', () => {
  const LOST = { error: { code: -32_001, message: 'Session not found' } };
  const withoutStream = (response: ServerResponse): void => void response.writeHead(405).end();

  // keryx 503: the error comes with 200.
  test('begins another session when the server does not know it, and the call is repeated', async () => {
    let isLost = false;
    const peer = await startPlain(({ method }) => {
      if (method === 'initialize') isLost = false;
      return isLost && method !== 'server/discover' ? LOST : null;
    }, withoutStream);
    const { call, statuses } = openPool(peer.options);
    await call('echo');
    isLost = true;
    expect(textOf(await call('echo'))).toBe('said');
    expect(statuses.filter(({ status }) => status === 'ready')).toHaveLength(2);
  });

  test('is the error of the tool when the server knows the session, and nothing is repeated', async () => {
    const peer = await startPlain(({ method }) => (method === 'tools/call' ? LOST : null), withoutStream);
    const { call } = openPool(peer.options);
    expect(failureOf(await call('echo'))).toMatchObject({ sent: true, error: { type: 'tool_error' } });
    expect(peer.seen.filter((method) => method === 'tools/call')).toHaveLength(1);
  });
});

describe('a server that was deployed anew, with other tools,', () => {
  const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object', ...more } });
  const withoutStream = (response: ServerResponse): void => void response.writeHead(405).end();
  const REFUSED = { error: { code: -32_602, message: 'Unknown tool' } };

  async function deployed(before: object, after: object) {
    let isNew = false;
    const peer = await startPlain(({ method, params }) => {
      if (method === 'tools/list') return { result: { tools: [isNew ? after : before] } };
      const { name } = (isNew ? after : before) as { name: string };
      return method === 'tools/call' && params?.name !== name ? REFUSED : null;
    }, withoutStream);
    const pool = openPool(peer.options);
    await pool.call(String((before as { name: string }).name));
    isNew = true;
    return { peer, ...pool };
  }

  test('is asked for its list before a call of an unknown tool is refused', async () => {
    const { call } = await deployed(tool('old'), tool('new'));
    expect(textOf(await call('new'))).toBe('said');
  });

  test('is asked for its list after it has refused a tool, whose call is not repeated', async () => {
    const { call, peer, listings, until } = await deployed(tool('old'), tool('new'));
    const before = peer.seen.filter((method) => method === 'tools/call').length;
    expect(failureOf(await call('old')).error.type).toBe('unknown_tool');
    expect(peer.seen.filter((method) => method === 'tools/call')).toHaveLength(before + 1);
    await until(() => listings.at(-1)?.tools.some(({ name }) => name === 'new') === true);
  });

  test('is asked for its list before arguments are refused, and no more for the next wrong ones', async () => {
    const narrow = { properties: { a: {} }, additionalProperties: false };
    const { call, peer } = await deployed(tool('same', narrow), tool('same'));
    expect(textOf(await call('same', { b: 1 }))).toBe('said');
    const listed = peer.seen.filter((method) => method === 'tools/list').length;
    for (let index = 0; index < 5; index += 1) await call('missing');
    expect(peer.seen.filter((method) => method === 'tools/list')).toHaveLength(listed);
  });
});
