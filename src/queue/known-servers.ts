// What a submitter knows of the MCP servers: their names and tools, from configuration and the catalog.
// Must never make a submission wait for a server.
import type { ToolCatalog } from '../journal/tool-catalog.ts';
import type { KnownServers } from './route.ts';

/** A catalog read is trusted this long. */
const FRESH_MS = 1_000;
/** For a tool nobody knows the catalog is read again, but not more often than this. */
const RECHECK_MS = 100;

export interface KnownServersSource {
  current(): Promise<KnownServers>;
  /** Reads again after a name was not found. */
  recheck(): Promise<KnownServers>;
}

/** `configured` are servers that are known before any worker has published them. */
export function knownServers(
  catalog: ToolCatalog,
  configured: readonly string[],
  now: () => number = Date.now,
): KnownServersSource {
  let servers: KnownServers = new Map(configured.map((name) => [name, null]));
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<KnownServers> | undefined;

  async function read(): Promise<KnownServers> {
    const entries = await catalog.read();
    const tools = entries.map((entry) => [entry.server, entry.tools.map((tool) => tool.tool)] as const);
    const known = new Map<string, readonly string[] | null>(configured.map((name) => [name, null]));
    for (const [server, names] of tools) known.set(server, names);
    servers = known;
    readAt = now();
    return servers;
  }

  function refresh(): Promise<KnownServers> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    async current() {
      if (readAt === Number.NEGATIVE_INFINITY) return refresh();
      if (now() - readAt > FRESH_MS) refresh().catch(() => {});
      return servers;
    },
    async recheck() {
      return now() - readAt < RECHECK_MS ? servers : refresh();
    },
  };
}
