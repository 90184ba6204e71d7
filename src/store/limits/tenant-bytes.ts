// The total size of a tenant's requests, where that is limited: summed up by the search index, request by request.
// Never refuses running work, nor costs anything without a limit.
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { tenantOf } from '../../contract/access/tenant.ts';
import type { LimitsOfTenant } from '../../contract/access/tenant-limits.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';

export interface TenantBytes {
  /** Throws `DirectiveRefused` (`tenant_full`) while the tenant of the request holds as much as it may. */
  require(requestId: string): Promise<void>;
  /** null: it has no such limit. */
  of(tenant: string): Promise<{ readonly used: number; readonly limit: number } | null>;
}

/** The list follows within a second, so an older answer would be no worse. */
const FRESH_MS = 500;
const MOST_KNOWN = 1_000;
const RETRY_AFTER_MS = 5_000;
/** The field of the hash that is the sum of the others. */
const SUM = '';

export function createTenantBytes(
  connection: RedisConnection,
  { storedBytes }: Pick<KeySpace, 'storedBytes'>,
  limitsOf: LimitsOfTenant,
  now: () => number = () => performance.now(),
): TenantBytes {
  const known = new Map<string, { readonly used: Promise<number>; readonly until: number }>();

  async function read(tenant: string): Promise<number> {
    return Number((await connection.hget(storedBytes(tenant), SUM)) ?? 0);
  }

  /** Callers meanwhile wait for the same answer. */
  function recent(tenant: string): Promise<number> {
    const found = known.get(tenant);
    if (found !== undefined && now() < found.until) return found.used;
    if (known.size >= MOST_KNOWN) known.clear();
    const used = read(tenant);
    known.set(tenant, { used, until: now() + FRESH_MS });
    used.catch(() => known.delete(tenant));
    return used;
  }

  return {
    async require(requestId) {
      const tenant = tenantOf(requestId);
      const { storedBytes: limit } = limitsOf(tenant);
      if (limit === undefined) return;
      const used = await recent(tenant);
      if (used >= limit) throw full(tenant, used, limit);
    },
    async of(tenant) {
      const { storedBytes: limit } = limitsOf(tenant);
      return limit === undefined ? null : { used: await read(tenant), limit };
    },
  };
}

function full(tenant: string, used: number, limit: number): DirectiveRefused {
  const detail =
    `The requests of the tenant "${tenant}" hold ${used} bytes, its stored_bytes is ${limit}; nothing was accepted, try again later: ` +
    'what is closed goes after its closed_ms, and what runs goes on';
  const members = { limit: 'stored_bytes', limit_bytes: limit, used_bytes: used };
  return new DirectiveRefused(problem('tenant_full', { detail, ...members, retry_after_ms: RETRY_AFTER_MS }));
}
