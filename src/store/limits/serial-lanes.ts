// Lanes in which one call runs at a time over all workers: who has the place, and which lanes they are.
// Must never depend on what one worker's configuration leaves out, nor on BullMQ: the holder's claim in the journal is the lease.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import type { ClaimRef } from '../refs.ts';

export type SerialLanes = ReturnType<typeof createSerialLanes>;

/** Workers say so every minute; after their last word a lane stays serial so long. */
const DECLARED_MS = 180_000;
/** No attempt is longer: its time limit is a timer's. */
const LONGEST_ATTEMPT_MS = 2_147_483_647;

/** The claims of directives, as the journal has them. `leaseUntil`: milliseconds since the epoch, by the clock of Redis. */
export interface HolderClaims {
  directive(
    requestId: string,
    id: string,
  ): Promise<{ readonly status: string; readonly fence: number; readonly leaseUntil: number | null } | null>;
}

/** The state of the claim that has the place, by the journal. */
export type HolderState = 'alive' | 'silent' | 'over';

export function createSerialLanes(connection: RedisConnection, keys: KeySpace, journal: HolderClaims) {
  const run = prepareScripts(connection);
  /** Here: they are serial even while Redis has forgotten it. */
  const own = new Set<string>();

  /** From now on every worker keeps to it, whatever its own configuration says. */
  async function declare(lane: string): Promise<void> {
    own.add(lane);
    await connection.set(keys.serial(lane), '1', 'PX', DECLARED_MS);
  }

  /** Whether any worker has declared it. */
  async function isDeclared(lane: string): Promise<boolean> {
    return own.has(lane) || (await connection.exists(keys.serial(lane))) === 1;
  }

  /**
   * Takes the place for a claim that holds its lease; false: another one has it. A holder that is silent for `graceMs` after
   * its lease loses the place. `now`: milliseconds since the epoch, by the clock of Redis.
   */
  async function enter(lane: string, claim: ClaimRef, now: number, graceMs: number): Promise<boolean> {
    const ask = (holder: string, state: HolderState | ''): ReturnType<typeof run> =>
      run('lane-enter', [keys.place(lane)], [nameOf(claim), holder, state, graceMs, LONGEST_ATTEMPT_MS]);
    const [verdict, holder] = await ask('', '');
    if (verdict === 'entered') return true;
    const [again] = await ask(String(holder), await stateOf(String(holder), now));
    return again === 'entered';
  }

  async function stateOf(holder: string, now: number): Promise<HolderState> {
    const [requestId = '', id = '', fence = ''] = holder.split('/');
    const record = await journal.directive(requestId, id);
    if (record?.status !== 'running' || String(record.fence) !== fence) return 'over';
    return (record.leaseUntil ?? 0) > now ? 'alive' : 'silent';
  }

  async function leave(lane: string, claim: ClaimRef): Promise<void> {
    await run('lane-leave', [keys.place(lane)], [nameOf(claim)]);
  }

  return { declare, isDeclared, enter, leave };
}

/** Identifiers hold no '/'. */
function nameOf({ requestId, id, fence }: ClaimRef): string {
  return `${requestId}/${id}/${fence}`;
}
