/** The MCP server over HTTP, for clients of both eras: a request in, a response out.
 *  It must never check a host or an origin, nor read a body: the API has done both. */
import { createMcpHandler, isLegacyRequest, type McpHttpHandler } from '@modelcontextprotocol/server';
import type { DirectiveClient } from '../contract/directive-client.ts';
import { createDepartures } from './departures.ts';
import type { Scope } from './offered-tools.ts';
import { createToolServer } from './server.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createToolSource } from './tool-source.ts';

export interface McpEndpoint {
  handle(request: Request, parsedBody: unknown): Promise<Response>;
  /** Ends every stream and every wait; calls go on. */
  close(): Promise<void>;
}

export interface EndpointOptions {
  readonly client: DirectiveClient;
  readonly version: string;
  readonly onError: (error: Error) => void;
  readonly scope?: Scope;
  /** Default: 30 000. */
  readonly graceMs?: number;
  /** Default: 15 000. */
  readonly heartbeatMs?: number;
}

const GRACE_MS = 30_000;
const HEARTBEAT_MS = 15_000;
const MOST_SESSIONS = 1_000;
const IDLE_SESSION_MS = 30 * 60_000;

export function createMcpEndpoint(options: EndpointOptions): McpEndpoint {
  const { client, version, onError, scope = { kind: 'all' } } = options;
  const stop = new AbortController();
  const departures = createDepartures({
    cancel: async ({ requestId, id }, reason) => client.cancel(requestId, id, { reason }),
    graceMs: options.graceMs ?? GRACE_MS,
    stop: stop.signal,
    onError,
  });
  const tools = createToolSource(client, scope);
  const { heartbeatMs = HEARTBEAT_MS } = options;
  const server = { client, departures, stop: stop.signal, tools, version, heartbeatMs };
  const modern = createMcpHandler((context) => createToolServer(server, context), { legacy: 'reject' });
  const sessions = createSessions({
    createServer: () => createToolServer(server, { era: 'legacy' }),
    most: MOST_SESSIONS,
    idleMs: IDLE_SESSION_MS,
  });
  return {
    handle: async (request, parsedBody) => handle(modern, sessions, request, parsedBody),
    async close() {
      stop.abort();
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}

async function handle(
  modern: McpHttpHandler,
  sessions: Sessions,
  request: Request,
  parsedBody: unknown,
): Promise<Response> {
  const isLegacy = await isLegacyRequest(request, parsedBody);
  return isLegacy ? sessions.handle(request, parsedBody) : modern.fetch(request, { parsedBody });
}
