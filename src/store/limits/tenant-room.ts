// The open work of each tenant: counted before its acceptance, where the tenant has a limit. Never trusted for more
// than that: the journal decides what is open.
import { tenantOf } from '../../contract/access/tenant.ts';
import type { LimitsOfTenant } from '../../contract/access/tenant-limits.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import { memberOf } from '../refs.ts';

/** Id → when it begins, as in `Later`, of what does not begin at once. */
export type Begins = ReadonlyMap<string, string>;

/**
 * The limit of the tenant, where these exceed it; else the function that removes from the count those that are not open
 * after all.
 */
export type EnterTenant = (
  requestId: string,
  ids: readonly string[],
  begins?: Begins,
) => Promise<number | LeaveTenant>;

/**
 * Removes those of `ids` that were entered here, that no other caller has submitted since and that are not open. Never
 * rejects.
 */
export type LeaveTenant = (ids: readonly string[]) => Promise<void>;

export const leaveNothing: LeaveTenant = () => Promise.resolve();

/** A counted entry leaves as it leaves the sweep index. A tenant without a limit costs nothing. */
export function createTenantRoom(
  connection: RedisConnection,
  keys: Pick<KeySpace, 'open' | 'sweep' | 'request'>,
  limitsOf: LimitsOfTenant,
): EnterTenant {
  const run = prepareScripts(connection);

  async function entered(
    requestId: string,
    { ids, begins }: { ids: readonly string[]; begins: Begins | undefined },
    most: number,
  ): Promise<LeaveTenant | null> {
    const places = [keys.open(tenantOf(requestId)), keys.sweep];
    const withBegin = (id: string): string => {
      const when = begins?.get(id);
      const member = memberOf({ requestId, id });
      return when === undefined ? member : `${member} ${when}`;
    };
    const members = ids.map(withBegin);
    const [verdict, at = 0, ...added] = await run('tenant-enter', places, [most, ...members]);
    if (verdict === 'full') return null;
    const own = new Set(added);
    return async (left) => {
      const leaving = left.filter((id) => own.has(memberOf({ requestId, id }))).map(withBegin);
      // Where Redis does not answer they count until nobody has found them open for a while.
      if (leaving.length > 0) await run('tenant-leave', places, [at, ...leaving]).catch(() => {});
    };
  }

  /** The ids that the journal does not have: a repeat of an accepted directive needs no capacity. */
  async function newOf(requestId: string, ids: readonly string[]): Promise<string[]> {
    const [state] = keys.request(requestId);
    const known = await connection.hmget(state, ...ids.map(fieldOf));
    return ids.filter((_, position) => known[position] === null);
  }

  return async (requestId, ids, begins) => {
    const { maxOpen } = limitsOf(tenantOf(requestId));
    if (maxOpen === undefined || ids.length === 0) return leaveNothing;
    const leave = await entered(requestId, { ids, begins }, maxOpen);
    if (leave !== null) return leave;
    const left = await newOf(requestId, ids);
    if (left.length === 0) return leaveNothing;
    return (
      (left.length < ids.length ? await entered(requestId, { ids: left, begins }, maxOpen) : null) ?? maxOpen
    );
  };
}

/** There from the acceptance on, of a directive or of a run. */
function fieldOf(id: string): string {
  return id.startsWith('@') ? `${id}|version` : `${id}|status`;
}
