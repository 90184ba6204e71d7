/** Authorization servers as public reports describe them: a login at each ends with its token, or with a fix that fits the cause.
 *  It must never check a token: a server of these tests only differs in the form of its answers. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { loginAt, type OAuthServer } from '../../support/oauth.ts';
import { loginFailureOf } from '../../../src/mcp/oauth/login-failure.ts';

type Members = Record<string, unknown>;

/** The differences of one server. `''` as the answer of a path: it does not exist. */
interface Habit {
  readonly resource?: (plain: Members, origin: string) => Members;
  readonly metadata?: (plain: Members, origin: string) => Members;
  readonly onlyOpenId?: boolean;
  readonly registration?: (body: Members) => { status: number; body: Members };
  readonly token?: Members | { readonly status: number; readonly body: Members };
  /** The query of the address that the browser returns to. */
  readonly iss?: (origin: string) => string;
  /** The address of the MCP server, as configured. */
  readonly path?: string;
}

async function serverWith(habit: Habit): Promise<OAuthServer> {
  const server = createServer((request, response) => void answer(request, response, habit, origin));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const auth = { grant: 'authorization_code', scopes: [] } as const;
  return {
    name: 'crm',
    transport: { kind: 'http', url: `${origin}${habit.path ?? '/mcp'}`, headers: {}, auth },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  habit: Habit,
  origin: string,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', origin);
  const body = Buffer.concat(await request.toArray()).toString();
  const reply = (status: number, value: Members): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  if (pathname.startsWith('/.well-known/oauth-protected-resource')) {
    const plain = { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ['use'] };
    return reply(200, habit.resource?.(plain, origin) ?? plain);
  }
  const known = habit.onlyOpenId === true ? 'openid-configuration' : 'oauth-authorization-server';
  if (pathname.startsWith(`/.well-known/${known}`)) {
    const plain = {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      jwks_uri: `${origin}/jwks`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    };
    return reply(200, habit.metadata?.(plain, origin) ?? plain);
  }
  if (pathname === '/register') {
    const asked = JSON.parse(body) as Members;
    const usual = { status: 201, body: { ...asked, client_id: 'client' } };
    const given = habit.registration?.(asked) ?? usual;
    return reply(given.status, given.body);
  }
  if (pathname === '/authorize') {
    const back = new URL(searchParams.get('redirect_uri') ?? '');
    back.searchParams.set('code', 'code');
    back.searchParams.set('state', searchParams.get('state') ?? '');
    if (habit.iss !== undefined) back.searchParams.set('iss', habit.iss(origin));
    return void response.writeHead(302, { location: back.href }).end();
  }
  if (pathname === '/token') {
    const given = habit.token ?? { access_token: 'token', token_type: 'Bearer' };
    return 'status' in given ? reply(Number(given['status']), given['body'] as Members) : reply(200, given);
  }
  if (pathname.startsWith('/mcp'))
    return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
  return reply(404, {});
}

function without(members: Members, name: string): Members {
  return Object.fromEntries(Object.entries(members).filter(([key]) => key !== name));
}

const TOKEN = { access_token: 'token', token_type: 'Bearer' };

test.each<[report: string, what: string, habit: Habit]>([
  [
    'opencode 50036',
    'an issuer with a slash, named without',
    { metadata: (plain, origin) => ({ ...plain, issuer: `${origin}/` }) },
  ],
  [
    'python-sdk 1919',
    'an issuer without a slash, named with',
    { resource: (plain, origin) => ({ ...plain, authorization_servers: [`${origin}/`] }) },
  ],
  [
    'codex 37373',
    'an issuer with a path and a slash, named without',
    {
      resource: (plain, origin) => ({ ...plain, authorization_servers: [`${origin}/oauth2`] }),
      metadata: (plain, origin) => ({ ...plain, issuer: `${origin}/oauth2/` }),
    },
  ],
  ['RFC 9207', 'an `iss` with the slash that its issuer lacks', { iss: (origin) => `${origin}/` }],
  [
    'OpenMetadata 30642',
    'null in the metadata of the resource',
    { resource: (plain) => ({ ...plain, resource_signing_alg_values_supported: null }) },
  ],
  [
    'OpenMetadata 30642',
    'one authorization server that is no list',
    { resource: (plain, origin) => ({ ...plain, authorization_servers: origin }) },
  ],
  [
    'python-sdk 1919',
    'a resource with a slash, configured without',
    { resource: (plain, origin) => ({ ...plain, resource: `${origin}/mcp/` }) },
  ],
  ['python-sdk 1919', 'a resource without a slash, configured with', { path: '/mcp/' }],
  [
    'OpenMetadata 30642',
    'null in its metadata',
    { metadata: (plain) => ({ ...plain, service_documentation: null, scopes_supported: null }) },
  ],
  [
    'OpenMetadata 30642',
    'empty addresses in its metadata',
    { metadata: (plain) => ({ ...plain, service_documentation: '', revocation_endpoint: '' }) },
  ],
  [
    'claude-code 17274',
    'no response types in its metadata',
    { metadata: (plain) => without(plain, 'response_types_supported') },
  ],
  ['juspay-mcp 122', 'OAuth metadata at the address of OpenID', { onlyOpenId: true }],
  [
    'spring-security 19765',
    'null and empty members in a registration',
    {
      registration: (asked) => ({
        status: 201,
        body: { ...asked, client_id: 'client', client_secret: null, client_uri: '', jwks_uri: null },
      }),
    },
  ],
  [
    'muster 1086',
    'a refusal of scopes in a registration',
    {
      registration: (asked) =>
        'scope' in asked
          ? { status: 400, body: { error: 'invalid_client_metadata' } }
          : { status: 201, body: { ...asked, client_id: 'client' } },
    },
  ],
  ['LibreChat 420', 'a life of the token as text', { token: { ...TOKEN, expires_in: '3600' } }],
  [
    'todoist-mcp 400',
    'null for what a token does not have',
    { token: { ...TOKEN, expires_in: null, refresh_token: null, scope: null, id_token: null } },
  ],
  ['litellm 30298', 'a token without its type', { token: { access_token: 'token' } }],
  ['litellm 30298', 'a list of scopes with the token', { token: { ...TOKEN, scope: ['use'] } }],
])('%s: a login at a server with %s ends with a token', async (_report, _what, habit) => {
  const login = await loginAt(await serverWith(habit));
  expect(login).toMatchObject({ accessToken: 'token', refreshToken: null });
  expect(login.expiresAt === null).toBe(!JSON.stringify(habit.token ?? {}).includes('3600'));
});

test.each<[what: string, habit: Habit, failure: { what: RegExp; how: RegExp }]>([
  [
    // smartbear-mcp 682
    'another issuer in its metadata',
    { metadata: (plain, origin) => ({ ...plain, issuer: `${origin}/backend` }) },
    {
      what: /127\.0\.0\.1:\d+\/ names another issuer: http:\/\/127\.0\.0\.1:\d+\/backend\.$/,
      how: /operator of the MCP server/,
    },
  ],
  [
    'a resource of another address',
    { resource: (plain) => ({ ...plain, resource: 'https://elsewhere.example/mcp' }) },
    { what: /elsewhere\.example/, how: /mcpServers\.crm\.url/ },
  ],
  [
    'no registration',
    { metadata: (plain) => without(plain, 'registration_endpoint') },
    { what: /dynamic client registration/, how: /client_id/ },
  ],
  [
    'a refusal of a registration',
    { registration: () => ({ status: 403, body: { error: 'access_denied' } }) },
    { what: /HTTP 403, access_denied/, how: /client_id/ },
  ],
  [
    'no S256',
    { metadata: (plain) => ({ ...plain, code_challenge_methods_supported: ['plain'] }) },
    { what: /S256/, how: /operator of the authorization server/ },
  ],
  [
    'an error without a description',
    { token: { status: 400, body: { error: 'invalid_scope', error_description: null } } },
    { what: /invalid_scope/, how: /Correct scopes of mcpServers\.crm\.auth/ },
  ],
  [
    'an error with status 200',
    { token: { error: 'invalid_client', error_description: 'no' } },
    { what: /invalid_client/, how: /client_id and the secret/ },
  ],
  [
    'an outage',
    { token: { status: 503, body: { error: 'temporarily_unavailable' } } },
    { what: /temporarily_unavailable/, how: /^Run the command again/ },
  ],
])('a login at a server with %s fails with a fix that fits', async (_what, habit, failure) => {
  const error: unknown = await loginAt(await serverWith(habit)).catch((reason: unknown) => reason);
  const found = loginFailureOf(error, 'crm');
  expect(found.what).toMatch(failure.what);
  expect(found.how).toMatch(failure.how);
});
