/** Requests that hosts of the older protocol really send to `/mcp`, over a real socket. Each test names the clients that send it.
 *  It must not use an MCP client, which sends what the protocol asks for. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { untilListed } from '../../../support/eventually.ts';
import { namedTools } from '../../../support/mcp-servers.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

const redis = useRedis();

const service = shared(async () => {
  const { transport: odd } = namedTools(['tool-0']);
  const mcpServers = { odd: { command: odd.command, args: odd.args } };
  const running = await startService({ redisUrl: redis.url, config: { mcpServers } });
  await untilListed(running.url, 'odd.tool-0');
  return {
    url: `${running.url}/mcp`,
    [Symbol.asyncDispose]: async () => running.stop(),
  };
});

describe('a host of the older protocol', () => {
  const INITIALIZE = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'host', version: '1' },
  };

  async function post(
    body: object,
    headers: Record<string, string> = {},
    url = service.url,
  ): Promise<Response> {
    const sent = JSON.stringify({ jsonrpc: '2.0', ...body });
    return fetch(url, { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: sent });
  }

  async function begin(params: object = INITIALIZE, headers: Record<string, string> = {}, url = service.url) {
    const begun = await post({ id: 0, method: 'initialize', params }, headers, url);
    const text = await begun.text();
    expect([begun.status, text]).toEqual([200, expect.stringContaining('"serverInfo"')]);
    return { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
  }

  // Issue 33, point 2: 250 sessions that kept 3.9 MB each ended the API by memory.
  test.each([
    ['clientInfo', { name: 'host', version: '1', title: 'x'.repeat(8 * 1024) }],
    ['capabilities', { experimental: { large: { text: 'x'.repeat(8 * 1024) } } }],
  ])('that introduces itself with a large %s gets no session', async (member, large) => {
    for (const body of [
      { id: 0, method: 'initialize', params: { ...INITIALIZE, [member]: large } },
      [{ jsonrpc: '2.0', id: 0, method: 'initialize', params: { ...INITIALIZE, [member]: large } }],
    ]) {
      const sent = JSON.stringify(Array.isArray(body) ? body : { jsonrpc: '2.0', ...body });
      const refused = await fetch(service.url, { method: 'POST', headers: JSON_HEADERS, body: sent });
      expect(refused.status).toBe(400);
      expect(refused.headers.get('mcp-session-id')).toBeNull();
      expect(await refused.json()).toMatchObject({
        error: { code: -32_602, message: expect.stringContaining(member) },
      });
    }
  });

  // Clients of rmcp 0.8.0 and of the Go SDK wait for the head (rust-sdk 553, go-sdk 410, 413, 633).
  test('gets the head of a stream before its first event', async () => {
    const session = await begin();
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    const head = ['GET /mcp HTTP/1.1', `Host: ${hostname}`, 'Accept: text/event-stream'];
    socket.write([...head, `Mcp-Session-Id: ${session['mcp-session-id']}`, '', ''].join('\r\n'));
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*text\/event-stream[^]*\r\n\r\n$/);
  });

  test('may end the address with a slash, and accept any media type', async () => {
    const any = { accept: '*/*' };
    for (const url of [`${service.url}/`, `${service.url}/odd/`]) {
      const session = await begin(INITIALIZE, any, url);
      const listed = await post({ id: 1, method: 'tools/list' }, { ...any, ...session }, url);
      expect([listed.status, await listed.text()]).toEqual([200, expect.stringContaining('"tools"')]);
    }
  });

  test('may begin anew with the id of a session that has ended, and without a name', async () => {
    const { clientInfo: _, ...nameless } = INITIALIZE;
    const stale = { 'mcp-session-id': 'ended-long-ago' };
    const session = await begin(nameless, stale);
    expect(session['mcp-session-id']).not.toBe(stale['mcp-session-id']);
    await begin({ ...nameless, clientInfo: null, capabilities: null });
    expect((await post({ id: 1, method: 'tools/list' }, stale)).status).toBe(404);
  });

  test('may send null for the arguments of a tool that needs none', async () => {
    const session = await begin();
    const params = { name: 'odd__tool-0', arguments: null };
    const called = await post({ id: 1, method: 'tools/call', params }, session);
    expect([called.status, await called.text()]).toEqual([200, expect.stringContaining('"content"')]);
  });
});
