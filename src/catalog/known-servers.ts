// The MCP servers that a submitter knows: their names and tools, from configuration and the catalog.
// Must never make a submission wait for a server.
import type { CatalogEntry, ToolCatalog } from './tool-catalog.ts';
import { recent, type Recent } from './recent.ts';
import type { KnownServers } from './route.ts';

export type KnownServersSource = Recent<KnownServers>;

/** `configured` servers are known before any worker publishes them. */
export function knownServers(
  catalog: Pick<ToolCatalog, 'read'>,
  configured: readonly string[],
  now: () => number = Date.now,
): KnownServersSource {
  async function read(): Promise<KnownServers> {
    const entries = await catalog.read();
    const tools = entries.map((entry) => [entry.server, namesOf(entry)] as const);
    const known = new Map<string, readonly string[] | null>(configured.map((name) => [name, null]));
    for (const [server, names] of tools) known.set(server, names);
    return known;
  }

  return recent(read, now);
}

/** A tool that was left out is known too: a call of it goes to its server's worker, which says why. */
function namesOf({ tools, faults = [] }: CatalogEntry): string[] {
  return [...new Set([...tools, ...faults].map(({ tool }) => tool))];
}
