// Empties the search index while others write it: first the rows of all tenants but those of archived requests, which the journal no
// longer has, then what facets and bytes hold without a row.
// Must never take a member out of a facet that its row names: row and facets of a request change in one script, and so are they looked at.
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { archivedRow, type IndexRow } from './row.ts';
import { indexedTenants } from './search-index.ts';

export type IndexMending = ReturnType<typeof createIndexMending>;

interface Clearing {
  /** As of `ListBuild`. */
  readonly keepCleared: () => Promise<boolean>;
  /** As of `SearchIndex`. */
  readonly write: (rows: readonly IndexRow[], gone: readonly string[]) => Promise<void>;
}

/** Number at once: Redis is blocked for a few hundred microseconds. */
const MENDED_AT_ONCE = 200;

/** `listedMs`: how long the row of an archived request outlives it, milliseconds. */
export function createIndexMending(connection: RedisConnection, keys: KeySpace, listedMs = 0) {
  const run = prepareScripts(connection);

  const setsOf = (tenant: string): [sets: string[], prefix: string] => {
    const [rows, all, expiry, errors, prefix] = keys.search(tenant);
    return [[rows, all, expiry, errors, keys.storedBytes(tenant)], prefix];
  };

  /** Writes the archived requests among the rows that were moved aside, and removes those. false: `keepCleared` was lost. */
  async function writeArchived(tenant: string, { keepCleared, write }: Clearing): Promise<boolean> {
    const aside = keys.searchAside(tenant);
    let cursor = '0';
    do {
      const [next, found] = await connection.hscan(aside, cursor, 'COUNT', MENDED_AT_ONCE);
      const now = Date.now();
      const pairs = Array.from({ length: found.length / 2 }, (_, at) => found.slice(2 * at, 2 * at + 2));
      const rows = pairs.flatMap(
        ([id = '', stored = '']) => archivedRow(id, stored, { listedMs, now }) ?? [],
      );
      if (rows.length > 0) {
        if (!(await keepCleared())) return false;
        await write(rows, []);
      }
      cursor = next;
    } while (cursor !== '0');
    await connection.unlink(aside);
    return true;
  }

  return {
    /**
     * Whatever is written meanwhile is written whole, because there is no row of it. Facets keep their members: see `mend`.
     * The bytes of a tenant stay, too, so that its limit holds meanwhile: see `mendBytes`. A process that goes on after another
     * one's death first writes what that one had moved aside. false: `keepCleared` was lost.
     */
    async clear(clearing: Clearing): Promise<boolean> {
      for (const tenant of await indexedTenants(connection, keys)) {
        if (!(await writeArchived(tenant, clearing))) return false;
        const [rows, ...sets] = keys.search(tenant).slice(0, -1);
        const removed = run('search-clear', [rows ?? '', keys.searchAside(tenant), ...sets], []);
        // Sent together: a process that stood still, and dies as it goes on, leaves no list that is called complete without its rows.
        const [isKept] = await Promise.all([clearing.keepCleared(), removed]);
        if (!isKept || !(await writeArchived(tenant, clearing))) return false;
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
