// The catalog of tools in Redis: what each MCP server offers, seen from every process.
// Must never be needed to run a tool; it only tells what is there.
import type { RedisConnection } from '../redis.ts';
import type { ToolListing } from '../contract/tool-listing.ts';
import type { KeySpace } from './keys.ts';

export type PublishedTool = ToolListing['tools'][number];
export type ServerStatus = ToolListing['servers'][number]['status'];

/** One server's entry. `updatedAt` is milliseconds since the epoch, by the publisher's clock. */
export interface CatalogEntry {
  server: string;
  status: ServerStatus;
  error?: string;
  tools: PublishedTool[];
  updatedAt: number;
  /** A worker's lane waits until then because the server is out of reach; milliseconds since the epoch. */
  blockedUntil?: number;
}

export type ToolCatalog = ReturnType<typeof createToolCatalog>;

export function createToolCatalog(connection: RedisConnection, keys: KeySpace) {
  async function publish(entry: CatalogEntry): Promise<void> {
    await connection.hset(keys.catalog, entry.server, JSON.stringify(entry));
  }

  /** Every known server, by name. */
  async function read(): Promise<CatalogEntry[]> {
    const entries = Object.values(await connection.hgetall(keys.catalog));
    return entries
      .map((json) => JSON.parse(json) as CatalogEntry)
      .sort((left, right) => (left.server < right.server ? -1 : 1));
  }

  return { publish, read };
}

/** The catalog as the API tells it. */
export function toolListing(entries: readonly CatalogEntry[]): ToolListing {
  return {
    tools: entries.flatMap((entry) => entry.tools),
    servers: entries.map((entry) => ({
      name: entry.server,
      status: entry.status,
      ...(entry.error === undefined ? {} : { error: entry.error }),
      tools: entry.tools.length,
      updated_at: new Date(entry.updatedAt).toISOString(),
    })),
  };
}
