/** The Host header over a real socket: names that a rebinding web page would send are refused on every path.
 *  It must not use fetch, which writes that header itself. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();

async function ask(url: string, host: string, method = 'GET', body?: string): Promise<IncomingMessage> {
  const { hostname, port, pathname } = new URL(url);
  const headers = { host, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
  const sending = request({ hostname, port, path: pathname, method, headers });
  sending.end(body);
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  return response;
}

async function statusOf(url: string, host: string): Promise<number | undefined> {
  const response = await ask(url, host);
  response.resume();
  return response.statusCode;
}

function start(environment: Record<string, string> = {}, config = {}): Promise<RunningService> {
  return startService({ redisUrl: redis.url, roles: { api: true }, environment, config });
}

describe('a service on loopback', () => {
  const service = shared(() => start());

  test('answers to its own names, on whatever port they are reached', async () => {
    const { port } = new URL(service.url);
    for (const host of [
      `127.0.0.1:${port}`,
      'localhost',
      `LOCALHOST:${port}`,
      '[::1]:80',
      `localhost:8080`,
    ]) {
      expect(await statusOf(`${service.url}/healthz`, host), host).toBe(200);
    }
  });

  test('refuses blind requests of another site’s page, and accepts those of its own pages', async () => {
    const send = async (origin: string): Promise<number> => {
      const answer = await fetch(`${service.url}/v1/requests/none/cancel`, {
        method: 'POST',
        headers: { origin },
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    for (const origin of ['https://evil.example', 'http://127.0.0.1.evil.example', 'null']) {
      expect(await send(origin), origin).toBe(403);
    }
    expect(await send(service.url)).toBe(404);
  });

  test('refuses every other name, on every path, with a problem', async () => {
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:7420', '[::2]']) {
      expect(await statusOf(`${service.url}/healthz`, host), host).toBe(403);
    }
    for (const path of ['/v1/tools', '/openapi.json', '/docs', '/no/such/path']) {
      const response = await ask(service.url + path, 'evil.example');
      expect(response.statusCode, path).toBe(403);
      expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8');
      expect(await json(response)).toMatchObject({ code: 'forbidden', status: 403 });
    }
  });

  test('accepts no submission under another name', async () => {
    const directive = { type: 'emit_tool_error', tool_name: 'a.b', error: 'x', request_id: 'rebound' };
    const refused = await ask(
      `${service.url}/v1/directives`,
      'evil.example',
      'POST',
      JSON.stringify(directive),
    );
    expect(refused.statusCode).toBe(403);
    refused.resume();
    expect((await fetch(`${service.url}/v1/requests/rebound`)).status).toBe(404);
  });

  test('answers to the names that the operator adds', async () => {
    await using service = await start({ ADJUTANT_ALLOWED_HOSTS: 'box.example, other.example' });
    expect(await statusOf(`${service.url}/healthz`, 'other.example:443')).toBe(200);
    expect(await statusOf(`${service.url}/healthz`, 'evil.example')).toBe(403);
  });
});

describe('a page of an origin that the operator named', () => {
  const origin = 'https://host.example';
  const service = shared(() =>
    start({ ADJUTANT_ALLOWED_ORIGINS: origin, ADJUTANT_ADMIN_KEY: `adj_${'a'.repeat(40)}` }),
  );

  const preflight = async (path: string, from: string): Promise<Response> =>
    fetch(service.url + path, {
      method: 'OPTIONS',
      headers: {
        origin: from,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, mcp-param-region',
      },
    });

  // Hosts in a browser, as the MCP Inspector's direct mode: a preflight carries no key (Fetch standard, CORS protocol).
  test('may call /mcp, and reads the session from the answer', async () => {
    const asked = await preflight('/mcp/docs', origin);
    expect([asked.status, Object.fromEntries(asked.headers)]).toMatchObject([
      204,
      {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST, DELETE',
        'access-control-allow-headers': 'authorization, mcp-param-region',
      },
    ]);
    const called = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: '{}',
    });
    expect([called.status, called.headers.get('access-control-allow-origin')]).toEqual([401, origin]);
    expect(called.headers.get('access-control-expose-headers')).toContain('mcp-session-id');
    expect(called.headers.get('access-control-allow-credentials')).toBeNull();
  });

  test('may call nothing else, and pages of other origins nothing at all', async () => {
    for (const [path, from] of [
      ['/v1/directives', origin],
      ['/mcpx', origin],
      ['/mcp', 'https://other.example'],
      ['/mcp', `${origin}:8443`],
    ] as const) {
      const asked = await preflight(path, from);
      expect([asked.status, asked.headers.get('access-control-allow-origin')], path).toEqual([403, null]);
    }
  });
});

describe('a page of an origin of `http.cors`', () => {
  const origin = 'https://app.example';
  const service = shared(async () => start({}, { http: { cors: { origins: [origin] } } }));
  const send = async (method: string, path: string, from: string): Promise<Response> =>
    fetch(service.url + path, { method, headers: { origin: from } });

  // Fetch standard, CORS protocol: exact origins, no credentials.
  test('may call /v1 alone, without cookies', async () => {
    const asked = await send('OPTIONS', '/v1/requests/none/signals', origin);
    expect([asked.status, Object.fromEntries(asked.headers)]).toMatchObject([
      204,
      {
        'access-control-allow-origin': origin,
        'access-control-allow-headers': expect.stringContaining('last-event-id'),
        vary: 'Origin',
      },
    ]);
    const answered = await send('GET', '/v1/requests/none', origin);
    expect([answered.status, answered.headers.get('access-control-allow-origin')]).toEqual([404, origin]);
    expect(answered.headers.get('access-control-allow-credentials')).toBeNull();
    for (const [path, from] of [
      ['/mcp', origin],
      ['/v1x', origin],
      ['/v1/requests', 'https://other.example'],
      ['/v1/requests', `${origin}:8443`],
    ] as const)
      expect((await send('OPTIONS', path, from)).status, path).toBe(403);
  });
});

test('a service on an open interface answers to any name', async () => {
  await using service = await start({ ADJUTANT_HOST: '0.0.0.0', ADJUTANT_INSECURE: '1' });
  const url = service.url.replace('0.0.0.0', '127.0.0.1');
  expect(await statusOf(`${url}/healthz`, 'whatever.example')).toBe(200);
});
