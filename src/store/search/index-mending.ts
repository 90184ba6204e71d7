// Empties the search index while others write it: first the rows of all tenants, then what facets and bytes hold without a row.
// Must never take a member out of a facet that its row names: row and facets of a request change in one script, and so are they looked at.
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { indexedTenants } from './search-index.ts';

export type IndexMending = ReturnType<typeof createIndexMending>;

/** Number at once: Redis is blocked for a few hundred microseconds. */
const MENDED_AT_ONCE = 200;

export function createIndexMending(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);

  const setsOf = (tenant: string): [sets: string[], prefix: string] => {
    const [rows, all, expiry, errors, prefix] = keys.search(tenant);
    return [[rows, all, expiry, errors, keys.storedBytes(tenant)], prefix];
  };

  return {
    /**
     * Whatever is written meanwhile is written whole, because there is no row of it. Facets keep their members: see `mend`.
     * The bytes of a tenant stay, too, so that its limit holds meanwhile: see `mendBytes`.
     * `keepCleared`: see ListBuild. false: it was lost.
     */
    async clear(keepCleared: () => Promise<boolean>): Promise<boolean> {
      for (const tenant of await indexedTenants(connection, keys)) {
        const removed = connection.unlink(...keys.search(tenant).slice(0, -1));
        // Sent together: a process that stood still, and dies as it goes on, leaves no list that is called complete without its rows.
        const [isKept] = await Promise.all([keepCleared(), removed]);
        if (!isKept) return false;
      }
      return true;
    },
    async mend(tenant: string, facet: string): Promise<void> {
      const [sets, prefix] = setsOf(tenant);
      await inPieces(async (cursor) => run('search-mend', sets, [prefix, facet, cursor, MENDED_AT_ONCE]));
    },
    /** To be called when every request has its row: what has none is gone. false: another one builds. */
    async mendBytes(hold: () => Promise<boolean>): Promise<boolean> {
      for (const tenant of await indexedTenants(connection, keys)) {
        if (!(await hold())) return false;
        const [sets] = setsOf(tenant);
        await inPieces(async (cursor) => run('search-mend-bytes', sets, [cursor, MENDED_AT_ONCE]));
      }
      return true;
    },
  };
}

/** `piece` returns where the next one begins. */
async function inPieces(piece: (cursor: string) => Promise<unknown[]>): Promise<void> {
  let cursor = '0';
  do {
    const [next] = await piece(cursor);
    cursor = String(next);
  } while (cursor !== '0');
}
