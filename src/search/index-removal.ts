// Removes the search index of all tenants, while others may write it.
// Must never delete by a pattern that the id of a request can fit: only the exact keys of a tenant, and its facets, go.
import { DEFAULT_TENANT } from '../contract/tenant.ts';
import type { KeySpace } from '../journal/keys.ts';
import { pause } from '../lifecycle.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { keyWalk, WALK_BEGIN } from './list-keys.ts';
import { indexedTenants } from './search-index.ts';

/** After each piece of the walk it waits as long as that took, at most so long. */
const LONGEST_REST_MS = 1_000;

/** Whether there may be something to remove; that costs a walk through all keys. */
export async function isIndexed(connection: RedisConnection, keys: KeySpace): Promise<boolean> {
  const [rows, all] = keys.search(DEFAULT_TENANT);
  const found = await Promise.all([keys.searchTenants, rows, all].map((key) => connection.exists(key)));
  return found.includes(1);
}

/**
 * One walk for all tenants. The rows go last: whoever writes meanwhile writes a request whole afterwards, because there is no row of it.
 * false: it was stopped, or a Redis changed meanwhile; then it is to be done again.
 */
export async function removeIndex(
  connection: RedisConnection,
  keys: KeySpace,
  stopping: AbortSignal,
): Promise<boolean> {
  const known = await indexedTenants(connection, keys);
  const found = await removeFacets(connection, keys, stopping);
  if (found === null) return false;
  for (const tenant of new Set([...known, ...found]))
    await connection.unlink(...keys.search(tenant).slice(0, -1), keys.storedBytes(tenant));
  await connection.del(keys.searchTenants);
  return true;
}

/** The tenants that had some, known or not. null: not all of them are removed. */
async function removeFacets(
  connection: RedisConnection,
  keys: KeySpace,
  stopping: AbortSignal,
): Promise<Set<string> | null> {
  const tenants = new Set<string>();
  const walk = await keyWalk(connection, keys);
  for (let cursor: string | null = WALK_BEGIN; cursor !== null;) {
    if (stopping.aborted) return null;
    const startedAt = performance.now();
    const { facets, next } = await walk.page(cursor);
    for (const { tenant, facet } of facets) {
      tenants.add(tenant);
      await connection.unlink(`${keys.search(tenant)[4]}${facet}`);
    }
    cursor = next;
    await pause(Math.min(performance.now() - startedAt, LONGEST_REST_MS), stopping);
  }
  const { topology } = await keyWalk(connection, keys);
  return topology === walk.topology ? tenants : null;
}
