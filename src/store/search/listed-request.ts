// Whether the list has a request as the journal has it: cheap, however many directives there are.
// Must never say so where what a row shows may have changed without a signal.
import { tenantOf } from '../../contract/access/tenant.ts';
import { type LimitsOfTenant, NO_TENANT_LIMITS } from '../../contract/access/tenant-limits.ts';
import type { KeySpace } from '../keys.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { requestVersion } from './request-facts.ts';

export type IsListedAsItIs = (requestId: string) => Promise<boolean>;

/** The set of requests in progress without a question: a claim may take back a question. */
const PLAINLY_OPEN = 's:open';

export function createListedCheck(
  connection: RedisConnection,
  keys: KeySpace,
  limitsOf: LimitsOfTenant = NO_TENANT_LIMITS,
): IsListedAsItIs {
  return async (requestId) => {
    const tenant = tenantOf(requestId);
    // What a request holds is in its row then, and may grow alone.
    if (limitsOf(tenant).storedBytes !== undefined) return false;
    const [rows] = keys.search(tenant);
    const [state] = keys.request(requestId);
    const [row, head] = await Promise.all([
      connection.hget(rows, requestId),
      connection.hmget(state, 'created_at', 'seq', 'count', '@run|version'),
    ]);
    const [createdAt, ...counts] = head;
    const [found, ...facets] = listed(row ?? '');
    return found === `${requestVersion(...counts.map(Number))} ${createdAt}` && facets.includes(PLAINLY_OPEN);
  };
}

/** Version and creation, then the facets, as search-write.lua writes a row. */
function listed(row: string): string[] {
  return row.slice(0, row.indexOf('\u0002')).split('\u0001');
}
