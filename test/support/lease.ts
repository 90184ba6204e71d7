/** The lease of a claim, changed in the journal.
 *  It must never be written by anything but a test. */
import type { RedisConnection } from '../../src/redis/connection.ts';

/** As if the lease ended at `untilAt`, milliseconds since the epoch. */
export async function setLeaseEnd(
  connection: RedisConnection,
  state: string,
  id: string,
  untilAt: number,
): Promise<void> {
  await connection.hset(state, `${id}|lease_until`, untilAt);
}
