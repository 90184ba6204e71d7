// Empties the search index of all tenants, while others write it.
// Must never delete by a pattern that the id of a request can fit: only the exact keys of a tenant, and its facets, go.
import type { KeySpace } from '../journal/keys.ts';
import { globOf, mastersOf, type RedisConnection } from '../redis/connection.ts';
import { indexedTenants } from './search-index.ts';

const SCANNED_AT_ONCE = 1_000;

/** The rows go last: whoever writes meanwhile writes a request whole afterwards, because there is no row of it. */
export async function removeIndex(connection: RedisConnection, keys: KeySpace): Promise<void> {
  for (const tenant of await indexedTenants(connection, keys)) {
    const [rows, all, expiry, errors, facet] = keys.search(tenant);
    await removeAll(connection, facet);
    await connection.unlink(rows, all, expiry, errors, keys.storedBytes(tenant));
  }
}

async function removeAll(connection: RedisConnection, prefix: string): Promise<void> {
  const pattern = `${globOf(prefix)}*`;
  for (const master of await mastersOf(connection)) {
    let cursor = '0';
    do {
      const [next, found] = await master.scan(cursor, 'MATCH', pattern, 'COUNT', SCANNED_AT_ONCE);
      if (found.length > 0) await connection.unlink(...found);
      cursor = next;
    } while (cursor !== '0');
  }
}
