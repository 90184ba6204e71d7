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
  const set = await connection.hset(state, `${id}|deadline_at`, 1);
  if (set !== 0) throw new Error(`nothing is known of ${requestId}/${id}`);
}
