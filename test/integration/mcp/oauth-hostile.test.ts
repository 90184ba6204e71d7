/** A server that asks for a login with hostile metadata: what a login then reaches, holds and reports.
 *  It must never leave this machine: every address is one of 127.0.0.1, or is refused before it is reached. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, test } from 'vitest';
import { AddressRefused, createAuthFetch, requireReachable } from '../../../src/mcp/oauth/auth-fetch.ts';
import { beginLogin } from '../../../src/mcp/oauth/interactive-login.ts';
import { loginFailureOf } from '../../../src/mcp/oauth/login-failure.ts';
import { logSdkWarnings } from '../../../src/mcp/sdk-warnings.ts';
import { logOn } from '../../../src/platform/telemetry/log.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';
import { shared } from '../../support/shared.ts';

/** The channel on which `fetch` reports its connections. */
const CONNECTED = 'undici:client:connected';

type Answer = {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  endless?: boolean;
  silent?: boolean;
};

const seen: string[] = [];
let answers: Readonly<Record<string, Answer>> = {};

const peer = shared(async () => {
  const server: Server = createServer(({ url = '' }, response) => {
    seen.push(url);
    const {
      status = 200,
      headers = {},
      body = '',
      endless = false,
      silent = false,
    } = answers[url] ?? { status: 404 };
    if (silent) return;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    if (!endless) return void response.end(body);
    const more = (): void =>
      void (response.writable && response.write('x'.repeat(65_536), () => setImmediate(more)));
    more();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
});

const PRM = '/.well-known/oauth-protected-resource/mcp';
const METADATA = '/.well-known/oauth-authorization-server';

function metadata(changes: object = {}): Answer {
  const { origin } = peer;
  const endpoints = { authorization_endpoint: `${origin}/auth`, token_endpoint: `${origin}/token` };
  const registration = { registration_endpoint: `${origin}/reg` };
  const kinds = { response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] };
  return { body: JSON.stringify({ issuer: origin, ...endpoints, ...registration, ...kinds, ...changes }) };
}

function resource(changes: object = {}): Answer {
  return {
    body: JSON.stringify({
      resource: `${peer.origin}/mcp`,
      authorization_servers: [peer.origin],
      ...changes,
    }),
  };
}

/** How a login at such a server ends; `comesBack`: with the answer of the authorization server. */
async function refusedLogin(
  given: Readonly<Record<string, Answer>>,
  {
    issuer,
    withinMs = 5_000,
    comesBack = false,
  }: { issuer?: string; withinMs?: number; comesBack?: boolean } = {},
): Promise<string> {
  answers = given;
  seen.length = 0;
  const auth = {
    grant: 'authorization_code',
    scopes: [],
    clientId: 'client',
    ...(issuer ? { issuer } : {}),
  } as const;
  const begun = beginLogin({
    transport: { kind: 'http', url: `${peer.origin}/mcp`, headers: {}, auth },
    redirectUrl: 'http://127.0.0.1:1/callback',
    scopes: [],
    before: null,
    challenge: {},
    signal: AbortSignal.timeout(withinMs),
    now: Date.now,
  });
  const ended = begun.then(async ({ url, state, finish }) => {
    if (!comesBack) return `begun at ${url.origin}`;
    return (await finish(new URLSearchParams({ code: 'c', state }))).accessToken;
  });
  return ended.catch((error: unknown) => loginFailureOf(error, 'crm').what);
}

test('sound metadata begin a login', async () => {
  expect(await refusedLogin({ [PRM]: resource(), [METADATA]: metadata() })).toBe(`begun at ${peer.origin}`);
});

test('metadata without an end, and without an answer, end the login', async () => {
  expect(await refusedLogin({ [PRM]: { endless: true } })).toMatch(/more than 262144 bytes/);
  expect(await refusedLogin({ [PRM]: { silent: true } }, { withinMs: 300 })).toMatch(/^The login failed/);
});

test('tokens that no header can carry, that have no end or no form, end the login, and no error has one', async () => {
  const tokens = (access_token: string) => ({ body: JSON.stringify({ access_token, token_type: 'Bearer' }) });
  const ends = async (answer: Answer, more: object = {}) =>
    refusedLogin(
      { [PRM]: resource(), [METADATA]: metadata(), '/token': answer },
      { comesBack: true, ...more },
    );
  expect(await ends(tokens('sesame'))).toBe('sesame');
  for (const token of ['sesame\nopen', 'sesame\u2028', ''])
    expect(await ends(tokens(token))).toBe('The authorization server gave a token that no header can carry.');
  expect(await ends({ endless: true })).toMatch(/more than 262144 bytes/);
  expect(await ends({ silent: true }, { withinMs: 500 })).toMatch(/^The login failed/);
  const inherited = { body: '{"__proto__":{"access_token":"sesame","token_type":"Bearer"}}' };
  expect(await ends(inherited)).toMatch(/^(?!.*sesame).*$/);
});

test('the reason of an authorization server reaches the log in no warning of the SDK', async () => {
  const logged = Promise.withResolvers<string>();
  const log = logOn({ write: logged.resolve }, { level: 'warn', isText: true, hasColours: false });
  logSdkWarnings(log);
  const refusal = { error: 'invalid_grant', error_description: 'the code sesame \u009b2J is used' };
  const answer = { status: 400, body: JSON.stringify(refusal) };
  const given = { [PRM]: resource(), [METADATA]: metadata(), '/token': answer };
  expect(await refusedLogin(given, { comesBack: true })).toContain('invalid_grant');
  expect(await logged.promise).toMatch(/the MCP SDK warns.*invalid_grant/);
  expect(await logged.promise).not.toMatch(/sesame|\u009b/);
});

test('a server that warns without end writes a bounded number of bounded lines', () => {
  const lines: string[] = [];
  const line = (fields: object, message: string): void =>
    void lines.push(`${JSON.stringify(fields)} ${message}`);
  logSdkWarnings({ ...SILENT, warn: line });
  // As the SDK does.
  const { warn } = globalThis.console;
  const name = 'n'.repeat(100_000);
  for (let count = 0; count < 1_000; count += 1) warn(`[mcp-sdk] excluding tool '${count}${name}'`);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(2_000);
  expect(lines.length).toBeLessThanOrEqual(20);
  expect(lines.at(-1)).toContain('more warnings of this minute are left out');
});

test('metadata of another issuer end the login before the browser opens', async () => {
  const other = { [PRM]: resource(), [METADATA]: metadata({ issuer: 'https://issuer.example' }) };
  expect(await refusedLogin(other)).toBe(
    `The metadata of the authorization server ${peer.origin}/ names another issuer: https://issuer.example.`,
  );
  expect(
    await refusedLogin({ [PRM]: resource(), [METADATA]: metadata() }, { issuer: 'https://issuer.example' }),
  ).toMatch(/names another issuer than the configuration/);
});

test('a resource that is not the server ends the login', async () => {
  const other = { [PRM]: resource({ resource: 'https://bank.example/' }), [METADATA]: metadata() };
  expect(await refusedLogin(other)).toMatch(/does not match/);
});

test.each(['https://127.0.0.2:1', 'http://10.0.0.1', 'http://issuer.example'])(
  'a redirect of the metadata to %s is not followed',
  async (elsewhere) => {
    const redirected = { [PRM]: { status: 302, headers: { location: `${elsewhere}/moved` } } };
    await refusedLogin(redirected);
    expect(seen.filter((url) => url.includes('moved'))).toEqual([]);
  },
);

const PUBLIC = 'https://mcp.example/mcp';
const at = (addresses: Readonly<Record<string, string>>) => (hostname: string) =>
  Promise.resolve([addresses[hostname] ?? '8.8.8.8']);

test.each([
  ['http://issuer.example/token', /not https/],
  ['ftp://issuer.example/', /not https/],
  ['http://127.0.0.1:6379/', /inside of this network/],
  ['https://169.254.169.254/latest/meta-data', /inside of this network/],
  ['https://10.1.2.3/token', /inside of this network/],
  ['https://[::1]/token', /inside of this network/],
  ['https://[::ffff:10.0.0.1]/token', /inside of this network/],
  ['https://localhost/token', /inside of this network/],
  ['https://inner.example/token', /inside of this network/],
])('a server outside of this network cannot name %s', async (address, why) => {
  const options = {
    serverUrl: PUBLIC,
    signal: AbortSignal.timeout(1_000),
    resolve: at({ 'inner.example': '192.168.1.1' }),
  };
  await expect(requireReachable(new URL(address), options)).rejects.toThrow(why);
});

test('a name is looked up where the request connects: another address the next time is not reached', async () => {
  answers = { '/token': { body: '{}' } };
  seen.length = 0;
  const asked: string[] = [];
  const { port } = new URL(peer.origin);
  const resolve = async (hostname: string): Promise<string[]> => {
    asked.push(hostname);
    if (hostname !== 'rebound.example') return ['8.8.8.8'];
    return [asked.filter((each) => each === hostname).length > 1 ? '8.8.8.8' : '127.0.0.1'];
  };
  const fetchFn = createAuthFetch({ serverUrl: PUBLIC, signal: AbortSignal.timeout(5_000), resolve });
  await expect(fetchFn(`http://rebound.example:${port}/token`)).rejects.toThrow(AddressRefused);
  expect(asked.filter((each) => each === 'rebound.example')).toHaveLength(1);
  expect(seen).toEqual([]);
});

test('a server whose name has also an address inside does not open this network', async () => {
  const resolve = async (hostname: string): Promise<string[]> =>
    hostname === 'mcp.example' ? ['8.8.8.8', '127.0.0.1'] : ['127.0.0.1'];
  const options = { serverUrl: PUBLIC, signal: AbortSignal.timeout(1_000), resolve };
  await expect(requireReachable(new URL('https://inner.example/token'), options)).rejects.toThrow(/inside/);
});

// Issue 33, point 16: the DNS of an MCP server outside answered another address to the lookup of its nearness.
test('a server that was connected outside does not open this network by an address inside', async () => {
  const messages: unknown[] = [];
  const note = (message: unknown): void => void messages.push(message);
  subscribe(CONNECTED, note);
  await (await fetch(peer.origin)).text();
  unsubscribe(CONNECTED, note);
  expect(messages).toEqual([
    expect.objectContaining({
      connectParams: expect.objectContaining({ hostname: '127.0.0.1' }) as object,
      socket: expect.objectContaining({ remoteAddress: '127.0.0.1' }) as object,
    }),
  ]);

  const resolve = async (): Promise<string[]> => ['127.0.0.1'];
  const options = { serverUrl: 'https://rebinding.example/mcp', signal: AbortSignal.timeout(1_000), resolve };
  const inner = new URL('https://inner.example/token');
  await requireReachable(inner, options);
  channel(CONNECTED).publish({
    connectParams: { hostname: 'rebinding.example' },
    socket: { remoteAddress: '8.8.8.8' },
  });
  await expect(requireReachable(inner, options)).rejects.toThrow(/inside/);
});

// Behind a proxy the name of the MCP server may be unknown here. It then opened this network to the metadata of a stranger.
test.each(['http://127.0.0.1:6379/', 'https://169.254.169.254/latest/meta-data', 'https://10.1.2.3/token'])(
  'a server that only the proxy can find cannot name %s',
  async (address) => {
    const options = {
      serverUrl: PUBLIC,
      signal: AbortSignal.timeout(1_000),
      resolve: () => Promise.resolve([]),
    };
    await expect(requireReachable(new URL(address), options)).rejects.toThrow(/inside of this network/);
    await requireReachable(new URL('https://issuer.example/token'), options);
  },
);

test('metadata that nests without end is a fault of the login', async () => {
  const deep = '['.repeat(120_000) + ']'.repeat(120_000);
  const body = `{"resource":"${peer.origin}/mcp","authorization_servers":["${peer.origin}"],"x":${deep}}`;
  expect(await refusedLogin({ [PRM]: { body }, [METADATA]: { body } })).toMatch(/./);
});

test.each(['::127.0.0.1', '64:ff9b:1::7f00:1', '2002:7f00:1::1', 'fec0::1'])(
  'a server outside of this network cannot name [%s]',
  async (address) => {
    const options = { serverUrl: PUBLIC, signal: AbortSignal.timeout(1_000), resolve: at({}) };
    await expect(requireReachable(new URL(`https://[${address}]/token`), options)).rejects.toThrow(/inside/);
  },
);

test('a server inside may name an issuer inside, and the operator any', async () => {
  const resolve = at({ 'inner.example': '192.168.1.1', 'mcp.inner.example': '10.0.0.9' });
  const signal = AbortSignal.timeout(1_000);
  const inner = new URL('https://inner.example/token');
  await requireReachable(inner, { serverUrl: 'https://mcp.inner.example/mcp', signal, resolve });
  await requireReachable(inner, { serverUrl: PUBLIC, issuer: 'https://inner.example', signal, resolve });
  await expect(
    requireReachable(new URL('http://127.0.0.1/'), {
      serverUrl: 'https://mcp.inner.example/mcp',
      signal,
      resolve,
    }),
  ).rejects.toThrow(AddressRefused);
});

test('a name without an address is a network fault, which advises no registration', async () => {
  const resolve = (): Promise<never> => Promise.reject(new Error('getaddrinfo ENOTFOUND issuer.example'));
  const fetchFn = createAuthFetch({ serverUrl: PUBLIC, signal: AbortSignal.timeout(5_000), resolve });
  const error: unknown = await fetchFn('https://issuer.example/token').catch((fault: unknown) => fault);
  expect(loginFailureOf(error, 'crm')).toEqual({
    what: 'The authorization server cannot be reached: getaddrinfo ENOTFOUND issuer.example.',
    how: 'Run the command again.',
  });
  const unnamed = { [PRM]: resource({ authorization_servers: ['https://issuer.invalid'] }) };
  expect(await refusedLogin(unnamed)).toMatch(/cannot be reached: getaddrinfo .*issuer\.invalid/);
});

test('a name that is not resolved holds no caller longer than the time limit', async () => {
  const limit = new AbortController();
  const resolve = (): Promise<never> => {
    queueMicrotask(() => limit.abort(new Error('the time is over')));
    return new Promise(() => {});
  };
  const reached = requireReachable(new URL('https://issuer.example/token'), {
    serverUrl: PUBLIC,
    signal: limit.signal,
    resolve,
  });
  await expect(reached).rejects.toThrow('the time is over');
});

test('one login makes a bounded number of requests', async () => {
  answers = { '/loop': { status: 302, headers: { location: '/loop' } } };
  const fetchFn = createAuthFetch({ serverUrl: `${peer.origin}/mcp`, signal: AbortSignal.timeout(5_000) });
  const all = Array.from({ length: 30 }, () =>
    fetchFn(`${peer.origin}/loop`).then(
      () => 'answered',
      () => 'refused',
    ),
  );
  expect((await Promise.all(all)).filter((end) => end === 'answered')).toHaveLength(24);
});
