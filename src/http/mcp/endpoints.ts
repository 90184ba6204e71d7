/** The endpoints of an API: one for the tools of all servers, and one for each server under its own names.
 *  It must never tell a server that shows nothing from one that does not exist. */
import { createMcpEndpoint, type McpEndpoint } from './endpoint.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { ToolListing } from '../../contract/tool/tool-listing.ts';
import type { ToolServersOptions } from './tool-servers.ts';

export interface McpEndpoints {
  /** `server` null: the tools of all. The answer is a sentence when there is no such server now. */
  handle(server: string | null, request: Request, parsedBody: unknown): Promise<Response | string>;
  close(): Promise<void>;
}

export function createMcpEndpoints(given: Omit<ToolServersOptions, 'scope' | 'listing'>): McpEndpoints {
  const options = { ...given, listing: sharedListing(given.client) };
  const all = createMcpEndpoint(options);
  const ofServer = new Map<string, McpEndpoint>();

  async function endpointOf(server: string | null): Promise<McpEndpoint | string> {
    if (server === null) return all;
    const known = ofServer.get(server);
    if (known !== undefined) return known;
    const why = whyNotServed(server, await options.client.tools());
    if (why !== null) return why;
    const made = ofServer.get(server) ?? createMcpEndpoint({ ...options, scope: { kind: 'server', server } });
    ofServer.set(server, made);
    return made;
  }

  return {
    handle: async (server, request, parsedBody) => {
      const endpoint = await endpointOf(server);
      return typeof endpoint === 'string' ? endpoint : endpoint.handle(request, parsedBody);
    },
    async close() {
      await Promise.all([all, ...ofServer.values()].map(async (endpoint) => endpoint.close()));
    },
  };
}

/** One read of the catalog for all endpoints when it changes: it may have megabytes. */
function sharedListing(client: DirectiveClient): Pick<DirectiveClient, 'tools' | 'agents'> {
  return { tools: shared(async () => client.tools()), agents: shared(async () => client.agents()) };
}

function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null;
  return async () => (reading ??= read().finally(() => void (reading = null)));
}

const MOST_NAMES = 20;

/** null: it is served. */
export function whyNotServed(server: string, { tools, servers }: ToolListing): string | null {
  const visible = new Set([
    ...tools.filter(({ exposed }) => exposed !== false).map((tool) => tool.server),
    ...servers.filter(({ offers }) => offers !== undefined).map(({ name }) => name),
  ]);
  return visible.has(server) ? null : notServed([...visible]);
}

/** A service that has just started knows the servers of no worker yet, and the client should try again. */
function notServed(servers: readonly string[]): string {
  const names = servers.toSorted().slice(0, MOST_NAMES).join(', ');
  const more = servers.length > MOST_NAMES ? ` and ${servers.length - MOST_NAMES} more` : '';
  const known = servers.length === 0 ? 'none yet' : `${names}${more}`;
  return `No worker serves an MCP server of this name now. Known servers: ${known}. A worker that has just started may still be connecting to its servers: try again in a moment.`;
}
