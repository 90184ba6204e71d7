/** A real authorization server (oidc-provider) and a real MCP server that demands its tokens, each on a port of 127.0.0.1.
 *  It must never show a login page: whoever opens the address is logged in and consents, unless it is told to refuse.
 *  PEER_TTL_S: life of an access token, seconds. GET /control on the MCP port tells what was asked of it; POST /control sets
 *  `person` (who logs in from now on), `withdrawn` (whose tokens count no longer), `barred` (whose tokens the MCP server alone refuses), `hold` (token requests wait), `refuse` (consent is denied), `outage` (the token endpoint answers 503). */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { Provider } from 'oidc-provider';

const TTL_S = Number(process.env.PEER_TTL_S ?? '3600');
const settings = {
  hold: false,
  refuse: false,
  outage: false,
  person: 'ada@example.org',
  withdrawn: '',
  barred: '',
};
const seen = { token: [], registered: 0, calls: 0, authorized: [], made: [] };
const released = new Set();

const listen = (server) =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`)),
  );
const text = (value) => ({ content: [{ type: 'text', text: value }] });

const authServer = createServer((request, response) => authRequest(request, response));
const mcpServer = createServer((request, response) => mcpRequest(request, response));
const issuer = await listen(authServer);
const origin = await listen(mcpServer);
const resource = `${origin}/mcp`;

const provider = new Provider(issuer, {
  clients: clients(),
  scopes: ['openid', 'offline_access', 'mcp:use', 'mcp:admin'],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: {
    AccessToken: TTL_S,
    ClientCredentials: TTL_S,
    RefreshToken: 86_400,
    Grant: 86_400,
    Session: 86_400,
    Interaction: 600,
    IdToken: 600,
  },
  issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  cookies: { keys: ['test'] },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'mcp:use mcp:admin',
        audience: resource,
        accessTokenTTL: TTL_S,
        accessTokenFormat: 'opaque',
      }),
    },
  },
});
const answer = provider.callback();

function clients() {
  const key = process.env.PEER_PUBLIC_KEY;
  const machine = {
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    scope: 'mcp:use mcp:admin',
  };
  const signed = { client_id: 'signed', token_endpoint_auth_method: 'private_key_jwt', ...machine };
  return [
    { client_id: 'machine', client_secret: 'machine-secret-of-the-test', ...machine },
    ...(key === undefined ? [] : [{ ...signed, jwks: { keys: [JSON.parse(key)] } }]),
  ];
}

async function authRequest(request, response) {
  const { pathname } = new URL(request.url, issuer);
  if (pathname.startsWith('/interaction/')) return interact(request, response);
  if (pathname === '/reg') seen.registered += 1;
  if (pathname === '/auth') seen.authorized.push(new URL(request.url, issuer).searchParams.get('scope'));
  if (pathname !== '/token') return answer(request, response);
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  seen.token.push(new URLSearchParams(body).get('grant_type'));
  process.stderr.write(`token request ${seen.token.length}\n`);
  if (settings.outage) return response.writeHead(503).end();
  if (settings.hold) await heldRequest(request, seen.token.length);
  // Whoever asked is gone: as if the request had been lost on its way.
  if (request.socket.destroyed) return undefined;
  const refresh = new URLSearchParams(body).get('refresh_token');
  const renewed = refresh === null ? undefined : await provider.RefreshToken.find(refresh);
  if (renewed !== undefined && renewed.accountId === settings.withdrawn)
    return response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
  request.body = Object.fromEntries(new URLSearchParams(body));
  return answer(request, response);
}

/** Resolves when it is released; tells on standard error when whoever asked is gone. */
function heldRequest(request, number) {
  request.socket.once('close', () => process.stderr.write(`token request ${number} is gone\n`));
  return new Promise((resolve) => released.add(resolve));
}

async function interact(request, response) {
  const { params, prompt } = await provider.interactionDetails(request, response);
  if (settings.refuse)
    return provider.interactionFinished(request, response, {
      error: 'access_denied',
      error_description: 'no',
    });
  if (prompt.name === 'login')
    return provider.interactionFinished(request, response, { login: { accountId: settings.person } });
  const grant = new provider.Grant({ accountId: settings.person, clientId: params.client_id });
  grant.addOIDCScope(params.scope ?? 'openid');
  grant.addResourceScope(resource, params.scope ?? '');
  return provider.interactionFinished(
    request,
    response,
    { consent: { grantId: await grant.save() } },
    { mergeWithLastSubmission: true },
  );
}

function createPeer() {
  const server = new McpServer({ name: 'oauth-peer', version: '1.0.0' });
  for (const name of ['use', 'admin', 'blurt', 'confess']) server.registerTool(name, {}, () => text(name));
  return server;
}

const handler = createMcpHandler(createPeer, { legacy: 'reject' });

async function mcpRequest(incoming, outgoing) {
  const { pathname } = new URL(incoming.url, origin);
  const body = Buffer.concat(await Array.fromAsync(incoming)).toString();
  if (pathname === '/control') return control(incoming.method, body, outgoing);
  if (pathname === '/resource')
    return json(outgoing, { resource, authorization_servers: [issuer], scopes_supported: ['mcp:use'] });
  if (pathname !== '/mcp') return outgoing.writeHead(404).end();
  const token = incoming.headers.authorization?.replace('Bearer ', '') ?? '';
  const found = await foundToken(token);
  const scope = found?.scope ?? (found === null ? null : '');
  if (scope === null) return refuse(outgoing, 401, 'error="invalid_token", scope="mcp:use"');
  const tool = toolOf(body);
  if (tool === 'admin' && !scope.includes('mcp:admin'))
    return refuse(outgoing, 403, 'error="insufficient_scope", scope="mcp:admin"');
  if (tool !== undefined) {
    seen.calls += 1;
    seen.made.push({ account: found.accountId, tool, label: JSON.parse(body).params.arguments?.label });
  }
  if (tool === 'blurt')
    return json(outgoing, {
      jsonrpc: '2.0',
      id: JSON.parse(body).id,
      error: { code: -32000, message: `bad token ${token}` },
    });
  if (tool === 'confess')
    return json(outgoing, {
      jsonrpc: '2.0',
      id: JSON.parse(body).id,
      result: { isError: true, content: [{ type: 'text', text: `bad token ${token}` }] },
    });
  const request = new Request(origin + incoming.url, {
    method: incoming.method,
    headers: incoming.headers,
    ...(body === '' ? {} : { body }),
  });
  const response = await handler.fetch(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  return response.body === null
    ? outgoing.end()
    : Readable.fromWeb(response.body)
        .on('error', () => {})
        .pipe(outgoing);
}

/** null: no token of ours, or over. */
async function foundToken(token) {
  const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
  if (found === undefined || found.isExpired || found.aud !== resource) return null;
  return [settings.withdrawn, settings.barred].includes(found.accountId) ? null : found;
}

function toolOf(body) {
  const message = body === '' ? {} : JSON.parse(body);
  return message.method === 'tools/call' ? message.params.name : undefined;
}

function refuse(outgoing, status, why) {
  outgoing
    .writeHead(status, { 'www-authenticate': `Bearer ${why}, resource_metadata="${origin}/resource"` })
    .end();
}

function control(method, body, outgoing) {
  if (method === 'POST') Object.assign(settings, JSON.parse(body));
  if (!settings.hold) for (const release of released) release();
  return json(outgoing, seen);
}

function json(outgoing, value) {
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

process.stderr.write(`oauth ${JSON.stringify({ issuer, origin, resource })}\n`);
