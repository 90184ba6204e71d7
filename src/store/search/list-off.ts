// The replacement of the list of requests while it is turned off: a refusal, and the removal of its remains. Never
// answers with a list: an empty one would say that there are no requests.
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { ChangedRequests } from '../index/changed-requests.ts';
import type { KeySpace } from '../keys.ts';
import { createLoop, pause, type Startable } from '../../platform/lifecycle.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { keyWalk, WALK_BEGIN } from './list-keys.ts';
import { indexedTenants } from './search-index.ts';

const DETAIL =
  'This service keeps no list of requests: `search.enabled` is false in its configuration. Set it to true for every process and start them ' +
  'again; they then build the list from the journal. One request is still shown by its id.';

/** In place of each function of a list. */
export function refuseList(): Promise<never> {
  return Promise.reject(new DirectiveRefused(problem('search_off', { detail: DETAIL })));
}

export interface ListOffParts {
  connection: RedisConnection;
  keys: KeySpace;
  changes: Pick<ChangedRequests, 'dropOverdue'>;
  onError: (error: Error) => void;
}

const LOOK_EVERY_MS = 10_000;
const LONGEST_STOP_MS = 1_000;

/**
 * Removes the list, and again and again what others note for it: programs with a direct client do not know that it is off. What a
 * process that keeps it leaves is removed when that one has ended.
 */
export function createListOff({
  connection,
  keys,
  changes,
  onError,
}: ListOffParts): Startable & { look(): Promise<void> } {
  let isFirst = true;
  let isLeft = false;

  async function look(): Promise<void> {
    const isKept = (await connection.exists(keys.listBuild)) === 1;
    isLeft ||= isKept || (isFirst && (await isIndexed(connection, keys)));
    if (isLeft && (isFirst || !isKept)) isLeft = !(await removeIndex(connection, keys, loop.stopping));
    isFirst = false;
    // Whoever keeps a list again builds it anew.
    await connection.del(keys.listBuild);
    await changes.dropOverdue();
  }

  const loop = createLoop({
    name: 'list of requests, off',
    work: look,
    everyMs: LOOK_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return { ...loop, look };
}

/** After each part of the walk it waits as long as that took, at most this long. */
const LONGEST_REST_MS = 1_000;

/** Whether there may be something to remove; that costs a walk through all keys. */
async function isIndexed(connection: RedisConnection, keys: KeySpace): Promise<boolean> {
  const [rows, all] = keys.search(DEFAULT_TENANT);
  const found = await Promise.all([keys.searchTenants, rows, all].map((key) => connection.exists(key)));
  return found.includes(1);
}

/**
 * One walk for all tenants. The rows go last: a process that writes meanwhile writes a request whole afterwards,
 * because its row is missing. false: it was stopped, or a Redis changed meanwhile; then it must be repeated.
 */
async function removeIndex(
  connection: RedisConnection,
  keys: KeySpace,
  stopping: AbortSignal,
): Promise<boolean> {
  const known = await indexedTenants(connection, keys);
  const found = await removeFacets(connection, keys, stopping);
  if (found === null) return false;
  for (const tenant of new Set([...known, ...found]))
    await connection.unlink(
      ...keys.search(tenant).slice(0, -1),
      keys.searchAside(tenant),
      keys.storedBytes(tenant),
    );
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
