// The search index in Redis: the rows of each tenant and the sorted sets over them.
// Must never be trusted to know what a request is: it is derived from the journal, and may be thrown away.
import { DEFAULT_TENANT, tenantOf } from '../../contract/access/tenant.ts';
import { type LimitsOfTenant, NO_TENANT_LIMITS } from '../../contract/access/tenant-limits.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { IndexRow } from './row.ts';

export type SearchIndex = ReturnType<typeof createSearchIndex>;

/** A place in a list that is sorted by creation, newest first; `id` null: before all of this instant. */
export interface ScanPlace {
  createdAt: number;
  id: string | null;
}

export interface Scan {
  facets: readonly string[];
  /** null: from the newest on. */
  from: ScanPlace | null;
  /** Milliseconds since the epoch; null: to the oldest. */
  since: number | null;
  mostSeen: number;
  mostFound: number;
}

export interface Scanned {
  /** Where to go on; null: the end was reached. */
  next: (ScanPlace & { id: string }) | null;
  rows: { id: string; stored: string }[];
}

export interface ErrorCount {
  type: string;
  requests: number;
}

/** Rows of a tenant; the oldest above it go. */
const MOST_ROWS = 2_000_000;
const DROPPED_AT_ONCE = 200;
const WRITTEN_AT_ONCE = 100;
/** A tenant without rows is forgotten so long after its last one, so that none is being written meanwhile. */
const TENANT_KNOWN_MS = 60_000;
/** Types of errors of a list. */
export const LISTED_ERRORS = 50;

/** The default one, and those that may have rows. */
export async function indexedTenants(connection: RedisConnection, keys: KeySpace): Promise<string[]> {
  return [DEFAULT_TENANT, ...(await connection.zrange(keys.searchTenants, '0', '-1'))];
}

/** Where it has had no row for long. Bytes without rows are mended at the end of a build, which has to know of the tenant. */
async function forgetTenant(connection: RedisConnection, keys: KeySpace, tenant: string): Promise<void> {
  const writtenAt = Number((await connection.zscore(keys.searchTenants, tenant)) ?? 0);
  if (writtenAt >= Date.now() - TENANT_KNOWN_MS) return;
  if ((await connection.exists(keys.storedBytes(tenant), keys.searchAside(tenant))) === 0)
    await connection.zrem(keys.searchTenants, tenant);
}

export function createSearchIndex(
  connection: RedisConnection,
  keys: KeySpace,
  limitsOf: LimitsOfTenant = NO_TENANT_LIMITS,
) {
  const run = prepareScripts(connection);

  const keysOf = (tenant: string): { sets: string[]; facet: string } => {
    const [rows, all, expiry, errors, facet] = keys.search(tenant);
    return { sets: [rows, all, expiry, errors, keys.storedBytes(tenant)], facet };
  };

  /** `rows` and `gone` of one tenant. */
  async function writeOf(tenant: string, rows: readonly IndexRow[], gone: readonly string[]): Promise<void> {
    const { sets, facet } = keysOf(tenant);
    if (tenant !== DEFAULT_TENANT) await connection.zadd(keys.searchTenants, String(Date.now()), tenant);
    const isLimited = limitsOf(tenant).storedBytes !== undefined;
    for (let first = 0; first < rows.length; first += WRITTEN_AT_ONCE) {
      const piece = rows.slice(first, first + WRITTEN_AT_ONCE);
      await run('search-write', sets, [facet, ...piece.flatMap((row) => rowWords(row, isLimited))]);
    }
    if (gone.length > 0) await run('search-drop', sets, [facet, ...gone]);
  }

  async function write(rows: readonly IndexRow[], gone: readonly string[]): Promise<void> {
    const tenants = new Set([...rows.map(({ requestId }) => tenantOf(requestId)), ...gone.map(tenantOf)]);
    for (const tenant of tenants)
      await writeOf(
        tenant,
        rows.filter(({ requestId }) => tenantOf(requestId) === tenant),
        gone.filter((requestId) => tenantOf(requestId) === tenant),
      );
  }

  async function scan(tenant: string, { facets, from, since, mostSeen, mostFound }: Scan): Promise<Scanned> {
    const [rows, all, , , prefix] = keys.search(tenant);
    const sets = facets.length === 0 ? [all] : await bySize(facets.map((facet) => prefix + facet));
    const place = [from?.createdAt ?? '', from?.id ?? '', since ?? ''];
    const reply = await run('search-scan', [rows, ...sets], [...place, mostSeen, mostFound]);
    const [createdAt, id, ...found] = reply.map(String);
    const next = id ? { createdAt: Number(createdAt), id } : null;
    const pairs = Array.from({ length: found.length / 2 }, (_, at) => ({
      id: found[2 * at] ?? '',
      stored: found[2 * at + 1] ?? '',
    }));
    return { next, rows: pairs };
  }

  /** The smallest first: it is looked through. */
  async function bySize(sets: readonly string[]): Promise<string[]> {
    if (sets.length === 1) return [...sets];
    const sized = await Promise.all(sets.map(async (set) => ({ set, size: await connection.zcard(set) })));
    return sized.sort((left, right) => left.size - right.size).map(({ set }) => set);
  }

  /** How many rows there are, and how many have each facet. */
  async function sizes(tenant: string, facets: readonly string[]): Promise<[total: number, ...number[]]> {
    const [, all, , , prefix] = keys.search(tenant);
    const [total, ...each] = await Promise.all(
      [all, ...facets.map((facet) => prefix + facet)].map((set) => connection.zcard(set)),
    );
    return [total ?? 0, ...each];
  }

  async function errorTypes(tenant: string): Promise<ErrorCount[]> {
    const [, , , errors] = keys.search(tenant);
    const reply = await connection.zrevrange(errors, 0, LISTED_ERRORS - 1, 'WITHSCORES');
    return Array.from({ length: reply.length / 2 }, (_, at) => ({
      type: reply[2 * at] ?? '',
      requests: Number(reply[2 * at + 1]),
    }));
  }

  async function trimOf(tenant: string): Promise<void> {
    const { sets, facet } = keysOf(tenant);
    for (let dropped = DROPPED_AT_ONCE, left = 0; dropped === DROPPED_AT_ONCE || left === 0;) {
      const args = [facet, DROPPED_AT_ONCE, MOST_ROWS];
      [dropped = 0, left = 0] = (await run('search-trim', sets, args)).map(Number);
      if (left > 0) continue;
      await forgetTenant(connection, keys, tenant);
      return;
    }
  }

  /** Drops the rows of requests that are gone. */
  async function trim(): Promise<void> {
    for (const tenant of await indexedTenants(connection, keys)) await trimOf(tenant);
  }

  return { write, scan, sizes, errorTypes, trim };
}

function rowWords(
  { requestId, version, createdAt, expiresAt, bytes, facets, text }: IndexRow,
  isLimited: boolean,
): (string | number)[] {
  const joined = facets.map((facet) => `${facet}\u0001`).join('');
  return [requestId, version, createdAt, expiresAt ?? '', joined, text, isLimited ? bytes : ''];
}
