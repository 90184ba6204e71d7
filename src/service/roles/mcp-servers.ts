// The MCP servers of a process, from the configuration. Never know a store: each server is started once for all of
// them.
import { resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import type {
  HttpServerConfig,
  McpServerConfig,
  OpenApiServerConfig,
  StdioServerConfig,
} from '../../config/servers.ts';
import { createMcpPool, type McpPool, type McpPoolOptions } from '../../mcp/pool.ts';
import type {
  HttpTransportOptions,
  McpServerOptions,
  OAuthOptions,
  OpenApiTransportOptions,
} from '../../mcp/server-options.ts';
import { withoutPercents } from '../../mcp/server-secrets.ts';
import { controlProcess, type Installation } from './control-process.ts';

export function mcpServers(
  config: Config,
  { agents = [], ...options }: Omit<McpPoolOptions, 'servers'> & Partial<Pick<Installation, 'agents'>>,
): McpPool {
  const servers = [...config.mcpServers].flatMap(([name, server]) =>
    server.kind === 'module' ? [] : [serverOptions(name, server, { ...config, agents })],
  );
  return createMcpPool({ ...options, servers });
}

/** User and password of the URL travel as a header: clients of HTTP refuse them in a URL, and repeat it in the refusal. */
function addressOf({ url, headers, bearer_token: token, auth }: HttpServerConfig): HttpTransportOptions {
  const address = new URL(url);
  const user = [address.username, address.password].map(withoutPercents).join(':');
  address.username = '';
  address.password = '';
  const own = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  const basic = user === ':' || own ? {} : { Authorization: `Basic ${Buffer.from(user).toString('base64')}` };
  const bearer = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const oauth = auth === undefined ? {} : { auth: oauthOf(auth) };
  return { kind: 'http', url: address.href, headers: { ...basic, ...headers, ...bearer }, ...oauth };
}

function oauthOf(auth: NonNullable<HttpServerConfig['auth']>): OAuthOptions {
  const { client_id, client_secret, client_metadata_url, private_key: pem, issuer } = auth;
  return {
    grant: auth.grant,
    scopes: auth.scopes,
    ...(auth.login === 'each' ? { login: 'each' } : {}),
    ...(client_id === undefined ? {} : { clientId: client_id }),
    ...(client_secret === undefined ? {} : { clientSecret: client_secret }),
    ...(client_metadata_url === undefined ? {} : { clientMetadataUrl: client_metadata_url }),
    ...(pem === undefined ? {} : { privateKey: { pem, algorithm: auth.private_key_algorithm } }),
    ...(issuer === undefined ? {} : { issuer }),
  };
}

/** One server as the pool wants it. */
export function serverOptions(
  name: string,
  server: McpServerConfig,
  installation: Installation,
): McpServerOptions {
  const { serial, questions, lane } = server;
  const sampling = 'sampling' in server && server.sampling !== undefined;
  const redactResults = 'redact_results' in server && server.redact_results;
  const shared = { name, serial, questions, sampling, redactResults, maxInFlight: lane.concurrency };
  return { ...shared, transport: transportOptions(server, installation) };
}

/** A server with OAuth, as a login wants it. */
export type LoginServer = McpServerOptions & {
  readonly transport: HttpTransportOptions & { readonly auth: OAuthOptions };
};

/** Throws where it has no `auth`. */
export function httpServerWithAuth(name: string, config: Config): LoginServer {
  const configured = config.mcpServers.get(name);
  const server =
    configured?.kind === 'http' ? serverOptions(name, configured, { ...config, agents: [] }) : null;
  if (server === null || server.transport.kind !== 'http' || server.transport.auth === undefined)
    throw new Error(`${name} has no auth`);
  return { ...server, transport: { ...server.transport, auth: server.transport.auth } };
}

function transportOptions(
  server: McpServerConfig,
  installation: Installation,
): McpServerOptions['transport'] {
  switch (server.kind) {
    case 'http':
      return addressOf(server);
    case 'stdio':
      return processOf(server, installation);
    case 'openapi':
      return apiOf(server, installation.directory);
    case 'builtin':
      return controlProcess(installation);
  }
}

function apiOf(
  { openapi, operations, base_url, headers, bearer_token: token, private_addresses }: OpenApiServerConfig,
  directory: string,
): OpenApiTransportOptions {
  const bearer = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return {
    kind: 'openapi',
    document: /^https?:/i.test(openapi) ? openapi : resolve(directory, openapi),
    baseUrl: base_url ?? null,
    operations: operations ?? null,
    headers: { ...headers, ...bearer },
    privateAddresses: private_addresses,
  };
}

function processOf(
  { command, args, env, cwd = '.', uid, gid, start_timeout_ms: startMs }: StdioServerConfig,
  { directory, serverVariables }: Installation,
) {
  const user = uid === undefined || gid === undefined ? {} : { user: { uid, gid } };
  const program = { command, args, env: withOwn(serverVariables, env), cwd: resolve(directory, cwd) };
  return { kind: 'stdio', ...program, startMs, ...user } as const;
}

/** A variable of the server replaces that of the service in any case of letters: most programs prefer `https_proxy` to `HTTPS_PROXY`. */
function withOwn(shared: Readonly<Record<string, string>>, own: Readonly<Record<string, string>>) {
  const named = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const left = Object.entries(shared).filter(([name]) => !named.has(name.toLowerCase()));
  return { ...Object.fromEntries(left), ...own };
}
