/** The endpoints of an API: one for the tools of all servers, and one for each server under its own names.
 *  It must never tell a server that shows nothing from one that does not exist. */
import { createMcpEndpoint, type McpEndpoint } from './endpoint.ts';
import type { ToolServersOptions } from './tool-servers.ts';

export interface McpEndpoints {
  /** `server` null: the tools of all. The answer is null when there is no such server. */
  handle(server: string | null, request: Request, parsedBody: unknown): Promise<Response | null>;
  close(): Promise<void>;
}

export function createMcpEndpoints(options: Omit<ToolServersOptions, 'scope'>): McpEndpoints {
  const all = createMcpEndpoint(options);
  const ofServer = new Map<string, McpEndpoint>();

  async function endpointOf(server: string | null): Promise<McpEndpoint | null> {
    if (server === null) return all;
    const known = ofServer.get(server);
    if (known !== undefined) return known;
    const { tools } = await options.client.tools();
    if (!tools.some((tool) => tool.server === server && tool.exposed !== false)) return null;
    const made = ofServer.get(server) ?? createMcpEndpoint({ ...options, scope: { kind: 'server', server } });
    ofServer.set(server, made);
    return made;
  }

  return {
    handle: async (server, request, parsedBody) => {
      const endpoint = await endpointOf(server);
      return endpoint && endpoint.handle(request, parsedBody);
    },
    async close() {
      await Promise.all([all, ...ofServer.values()].map(async (endpoint) => endpoint.close()));
    },
  };
}
