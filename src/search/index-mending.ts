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
    /**
     * Whatever is written meanwhile is written whole, because there is no row of it. Facets keep their members: see `mend`.
     * `keepCleared`: see ListBuild. false: it was lost.
     */
    async clear(keepCleared: () => Promise<boolean>): Promise<boolean> {
      for (const tenant of await indexedTenants(connection, keys)) {
        const removed = connection.unlink(...keys.search(tenant).slice(0, -1), keys.storedBytes(tenant));
        // Sent together: a process that stood still, and dies as it goes on, leaves no list that is called complete without its rows.
        const [isKept] = await Promise.all([keepCleared(), removed]);
        if (!isKept) return false;
      }
      return true;
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
