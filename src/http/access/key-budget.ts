// The submissions of a key in a minute and in a day, counted in Redis for all APIs together. Never calls Redis for a
// key without such a limit.
import { TENANT_MARK } from '../../contract/access/tenant.ts';
import { type LimitsOfTenant, NO_TENANT_LIMITS } from '../../contract/access/tenant-limits.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { prepareScripts } from '../../store/scripts.ts';
import type { KeySpace } from '../../store/keys.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { Principal } from './principal.ts';

/** Counts `count` submitted directives or runs. Throws the refusal. */
export type SpendBudget = (principal: Principal, count: number) => Promise<void>;

/** Also of the tenant, over all its keys and tokens: first of the key, whose limits are the narrower ones. */
export function createKeyBudget(
  connection: RedisConnection,
  { spent }: Pick<KeySpace, 'spent'>,
  limitsOf: LimitsOfTenant = NO_TENANT_LIMITS,
): SpendBudget {
  const run = prepareScripts(connection);

  async function spend({ who, place, perMinute, perDay }: Spender, count: number): Promise<void> {
    if (perMinute === null && perDay === null) return;
    const limits = [count, perMinute ?? 0, perDay ?? 0];
    const [verdict, which, leftMs] = await whileAvailable(() => run('access-spend', [spent(place)], limits));
    if (verdict === 'ok') return;
    const limit = which === 'day' ? perDay : perMinute;
    const roomAt = new Date(Date.now() + Number(leftMs)).toISOString().slice(0, 19);
    const until =
      count > (limit ?? 0)
        ? 'submit fewer at once (a redrive takes a `limit`, or names)'
        : `the next submission is possible at ${roomAt}Z`;
    const detail = `The ${who} may submit ${limit} directives and runs a ${which}, and has not ${count} left: ${until}.`;
    throw new DirectiveRefused(problem('rate_limited', { detail, limit, retry_after_ms: Number(leftMs) }));
  }

  return async ({ id, name, tenant, perMinute, perDay }, count) => {
    await spend({ who: `key "${name}"`, place: id, perMinute, perDay }, count);
    const { perMinute: ofMinute = null, perDay: ofDay = null } = limitsOf(tenant);
    const place = `${TENANT_MARK}${tenant}`;
    await spend({ who: `tenant "${tenant}"`, place, perMinute: ofMinute, perDay: ofDay }, count);
  };
}

interface Spender {
  readonly who: string;
  /** In Redis. No id of a key begins as that of a tenant does. */
  readonly place: string;
  readonly perMinute: number | null;
  readonly perDay: number | null;
}

/** Keys that a tenant makes in a minute. Each one has every API read the keys again. */
const MOST_MADE_A_MINUTE = 120;

/** Counts a key that is made for the tenant, over all APIs. Throws the refusal. */
export type ChargeKey = (tenant: string) => Promise<void>;

export function createKeyCount(connection: RedisConnection, { spent }: Pick<KeySpace, 'spent'>): ChargeKey {
  const run = prepareScripts(connection);
  return async (tenant) => {
    const place = spent(`${TENANT_MARK}${tenant}/keys`);
    const [verdict, , leftMs] = await whileAvailable(() =>
      run('access-spend', [place], [1, MOST_MADE_A_MINUTE, 0]),
    );
    if (verdict === 'ok') return;
    const detail = `The tenant "${tenant}" may make ${MOST_MADE_A_MINUTE} keys a minute: make the others later.`;
    throw new DirectiveRefused(problem('rate_limited', { detail, retry_after_ms: Number(leftMs) }));
  };
}
