// The MCP servers of a process, from the configuration.
// Must never know a store: each server is started once, whoever uses it.
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { HttpServerConfig, ServerConfig, StdioServerConfig } from '../config/servers.ts';
import { createMcpPool, type McpPool, type McpPoolOptions } from '../mcp/pool.ts';
import type { HttpTransportOptions, McpServerOptions } from '../mcp/server-options.ts';
import { withoutPercents } from '../mcp/server-secrets.ts';

export function mcpServers(
  { mcpServers: configured, directory }: Config,
  options: Omit<McpPoolOptions, 'servers'>,
): McpPool {
  const servers = [...configured].map(([name, server]) => serverOptions(name, server, directory));
  return createMcpPool({ ...options, servers });
}

/** User and password of the URL travel as a header: clients of HTTP refuse them in a URL, and repeat it in the refusal. */
function addressOf({ url, headers, bearer_token: token }: HttpServerConfig): HttpTransportOptions {
  const address = new URL(url);
  const user = [address.username, address.password].map(withoutPercents).join(':');
  address.username = '';
  address.password = '';
  const own = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  const basic = user === ':' || own ? {} : { Authorization: `Basic ${Buffer.from(user).toString('base64')}` };
  const bearer = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return { kind: 'http', url: address.href, headers: { ...basic, ...headers, ...bearer } };
}

/** One server as the pool wants it. */
export function serverOptions(name: string, server: ServerConfig, directory: string): McpServerOptions {
  const shared = { name, serial: server.serial, maxInFlight: server.lane.concurrency };
  return { ...shared, transport: transportOptions(server, directory) };
}

function transportOptions(server: ServerConfig, directory: string): McpServerOptions['transport'] {
  switch (server.kind) {
    case 'http':
      return addressOf(server);
    case 'stdio':
      return processOf(server, directory);
  }
}

function processOf({ command, args, env, cwd = '.', uid, gid }: StdioServerConfig, directory: string) {
  const user = uid === undefined || gid === undefined ? {} : { user: { uid, gid } };
  return { kind: 'stdio', command, args, env, cwd: resolve(directory, cwd), ...user } as const;
}
