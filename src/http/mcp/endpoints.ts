/** The endpoints of an API: one for the tools of all servers, and one for each server under its own names.
 *  It must never tell a server that shows nothing from one that does not exist. */
import { createMcpEndpoint, type McpEndpoint } from './endpoint.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { ToolListing } from '../../contract/tool/tool-listing.ts';
import type { Scope } from './offered-tools.ts';
import type { ToolServersOptions } from './tool-servers.ts';

export interface McpEndpoints {
  /** `server` null: the tools of all. The answer is a sentence when there is no such server now, or no such `?tools=`. */
  handle(server: string | null, request: Request, parsedBody: unknown): Promise<Response | string>;
  close(): Promise<void>;
}

type EndpointsOptions = Omit<ToolServersOptions, 'scope' | 'listing' | 'isSearch'> & {
  /** Whether the caller of now gets the search where its address does not say so. Default: the list. */
  readonly prefersSearch?: () => boolean;
};

export function createMcpEndpoints({ prefersSearch, ...given }: EndpointsOptions): McpEndpoints {
  const options = { ...given, listing: sharedListing(given.client) };
  const endpoints = new Map<string, McpEndpoint>();

  async function endpointOf(server: string | null, isSearch: boolean): Promise<McpEndpoint | string> {
    const place = `${isSearch ? 'search' : 'list'} ${server ?? ''}`;
    const known = endpoints.get(place);
    if (known !== undefined) return known;
    const why = server === null ? null : whyNotServed(server, await options.client.tools());
    if (why !== null) return why;
    const scope: Scope = server === null ? { kind: 'all' } : { kind: 'server', server };
    const made = endpoints.get(place) ?? createMcpEndpoint({ ...options, scope, isSearch });
    endpoints.set(place, made);
    return made;
  }

  return {
    handle: async (server, request, parsedBody) => {
      const shown = new URL(request.url).searchParams.get('tools') ?? (prefersSearch?.() ? 'search' : 'list');
      if (shown !== 'search' && shown !== 'list') return 'The parameter tools is "list" or "search".';
      const endpoint = await endpointOf(server, shown === 'search');
      return typeof endpoint === 'string' ? endpoint : endpoint.handle(request, parsedBody);
    },
    async close() {
      await Promise.all([...endpoints.values()].map(async (endpoint) => endpoint.close()));
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
