/** The lease of a claim, in whichever of its two forms the journal has it.
 *  It must never be written by anything but a test. */
import type { RedisConnection } from '../../src/redis/connection.ts';

/** As if the lease ended at `untilAt`, milliseconds since the epoch. */
export async function setLeaseEnd(
  connection: RedisConnection,
  state: string,
  id: string,
  untilAt: number,
): Promise<void> {
  const first = await connection.hget(state, `${id}|first`);
  if (first === null) await connection.hset(state, `${id}|lease_until`, untilAt);
  else await connection.hset(state, `${id}|first`, first.replace(/^\d+/, String(untilAt)));
}
