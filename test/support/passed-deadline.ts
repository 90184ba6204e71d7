/** A directive whose deadline has passed, without waiting for it.
 *  It must never change anything else of the directive. */
import type { KeySpace } from '../../src/journal/keys.ts';
import type { RedisConnection } from '../../src/redis/connection.ts';

interface Store {
  connection: RedisConnection;
  keys: KeySpace;
}

export async function passDeadline(
  { connection, keys }: Store,
  requestId: string,
  id: string,
): Promise<void> {
  const [state] = keys.request(requestId);
  const [type, lane, acceptedAt] = ((await connection.hget(state, `${id}|given`)) ?? '').split(' ');
  if (acceptedAt === undefined) throw new Error(`nothing is known of ${requestId}/${id}`);
  await connection.hset(state, `${id}|given`, `${type} ${lane} ${acceptedAt} 1`);
}
