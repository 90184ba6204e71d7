/** The tools over Streamable HTTP: clients of both protocols, hostile bytes, and web pages that must not reach them.
 *  It must not listen anywhere but on the loopback. */
import { request as httpRequest } from 'node:http';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDirectiveFolder } from '../../../../src/servers/directive/directive-folder.ts';
import { listenDirectiveHttp } from '../../../../src/servers/directive/http-listener.ts';
import { CONTEXT, placeWith, WHOLE } from '../../../support/directive-server.ts';

async function listen(allowedHosts: readonly string[] = []): Promise<URL> {
  const folder = createDirectiveFolder(await placeWith(WHOLE));
  const options = { folder, version: '0.0.0', names: 'exact', onCall: () => {} } as const;
  const listener = await listenDirectiveHttp(options, { host: '127.0.0.1', port: 0, allowedHosts });
  onTestFinished(async () => listener.close());
  return new URL(listener.url);
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Not fetch: that forbids to choose the Host. */
async function post(
  url: URL,
  body: string,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const accept = 'application/json, text/event-stream';
  const sent = { 'content-type': 'application/json', accept, ...headers };
  const outgoing = httpRequest(url, { method, headers: sent }, (incoming) => {
    let text = '';
    incoming.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body: text }));
  });
  outgoing.on('error', reject).end(body);
  return promise;
}

const GET_CONTEXT = { name: 'directive/file.get', arguments: { path: CONTEXT } };
const CONTENT = [{ type: 'text', text: JSON.stringify({ path: CONTEXT, content: WHOLE[CONTEXT] }) }];
const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

describe('over HTTP the tools are listed and called', () => {
  test('by the SDK of the legacy protocol', async () => {
    const client = new Client({ name: 'test', version: '1' });
    onTestFinished(async () => client.close());
    await client.connect(new StreamableHTTPClientTransport(await listen()) as Transport);
    expect((await client.listTools()).tools).toHaveLength(5);
    expect((await client.callTool(GET_CONTEXT)).content).toEqual(CONTENT);
  });

  test('by the SDK of the modern protocol', async () => {
    const client = new ModernClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    onTestFinished(async () => client.close());
    await client.connect(new ModernTransport(await listen()));
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect((await client.listTools()).tools).toHaveLength(5);
    expect((await client.callTool(GET_CONTEXT)).content).toEqual(CONTENT);
    const escape = { name: 'directive/file.get', arguments: { path: '../x' } };
    await expect(client.callTool(escape)).rejects.toMatchObject({ code: -32_000, message: 'Server error' });
  });

  test('without a handshake, as older clients do', async () => {
    const { status, body } = await post(await listen(), LIST);
    expect([status, body]).toEqual([200, expect.stringContaining('directive/tdr.template')]);
  });
});

describe('a web page under a foreign name is refused', () => {
  test.each([
    { host: 'evil.example' },
    { host: 'evil.example:80' },
    { host: 'localhost.evil.example' },
    { origin: 'http://evil.example' },
    { origin: 'null' },
  ])('%j', async (headers) => {
    expect((await post(await listen(), LIST, headers as Record<string, string>)).status).toBe(403);
  });

  test('and its own names are not', async () => {
    const url = await listen(['tools.example']);
    for (const headers of [
      { host: 'localhost:1' },
      { host: 'tools.example' },
      { origin: `http://${url.host}` },
    ])
      expect((await post(url, LIST, headers as Record<string, string>)).status).toBe(200);
  });
});

describe('what a client may get wrong', () => {
  test.each([
    ['no JSON', '{', 400],
    ['too deep', '['.repeat(5_000), 400],
    ['a batch', `[${LIST}]`, 400],
    ['a name that is no string', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', 200],
    ['more than a mebibyte', `"${'x'.repeat(1024 * 1024)}"`, 413],
    ['a notification', '{"jsonrpc":"2.0","method":"notifications/initialized"}', 202],
  ])('%s', async (_, body, status) => expect((await post(await listen(), body)).status).toBe(status));

  test.each([
    ['another path', 'POST', '/', 404],
    ['GET, as there are no sessions', 'GET', '/mcp', 405],
    ['DELETE', 'DELETE', '/mcp', 405],
  ])('%s', async (_, method, path, status) => {
    const url = new URL(path, await listen());
    expect((await post(url, method === 'POST' ? LIST : '', {}, method)).status).toBe(status);
  });

  test('another content type: a page may send that without asking', async () => {
    expect((await post(await listen(), LIST, { 'content-type': 'text/plain' })).status).toBe(415);
  });
});
