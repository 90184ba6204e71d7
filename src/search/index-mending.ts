// Empties the search index while others write it: first the rows of all tenants, then what the facets hold without a row.
// Must never take a member out of a facet that its row names: row and facets of a request change in one script, and so are they looked at.
import type { KeySpace } from '../journal/keys.ts';
import { prepareScripts } from '../journal/scripts.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { indexedTenants } from './search-index.ts';

export type IndexMending = ReturnType<typeof createIndexMending>;

/** Redis stands for a few hundred microseconds. */
const MENDED_AT_ONCE = 200;

export function createIndexMending(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);
  return {
    /** Whatever is written meanwhile is written whole, because there is no row of it. Facets keep their members: see `mend`. */
    async clear(): Promise<void> {
      for (const tenant of await indexedTenants(connection, keys))
        await connection.unlink(...keys.search(tenant).slice(0, -1), keys.storedBytes(tenant));
    },
    async mend(tenant: string, facet: string): Promise<void> {
      const [rows, all, expiry, errors, prefix] = keys.search(tenant);
      let cursor = '0';
      do {
        const asked = [prefix, facet, cursor, MENDED_AT_ONCE];
        const [next] = await run('search-mend', [rows, all, expiry, errors, keys.storedBytes(tenant)], asked);
        cursor = String(next);
      } while (cursor !== '0');
    },
  };
}
