/** The MCP server over HTTP, for clients of both eras: a request in, a response out.
 *  It must never check a host or an origin, nor read a body: the API has done both. */
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { createSessions } from './sessions.ts';
import { createToolServers, type ToolServersOptions } from './tool-servers.ts';

export interface McpEndpoint {
  handle(request: Request, parsedBody: unknown): Promise<Response>;
  /** Ends every stream and every wait; calls go on. */
  close(): Promise<void>;
}

const MOST_SESSIONS = 1_000;
const IDLE_SESSION_MS = 30 * 60_000;

export function createMcpEndpoint(options: ToolServersOptions): McpEndpoint {
  const servers = createToolServers(options);
  const modern = createMcpHandler(servers.create, { legacy: 'reject' });
  const sessions = createSessions({
    createServer: () => servers.create({ era: 'legacy' }),
    most: MOST_SESSIONS,
    idleMs: IDLE_SESSION_MS,
  });

  async function handle(request: Request, parsedBody: unknown): Promise<Response> {
    const isLegacy = await isLegacyRequest(request, parsedBody);
    return isLegacy ? sessions.handle(request, parsedBody) : modern.fetch(request, { parsedBody });
  }

  async function close(): Promise<void> {
    servers.stop();
    await Promise.all([modern.close(), sessions.close()]);
  }

  return { handle, close };
}
