/** What is left in Redis when the retention is over: nothing that would stay for ever.
 *  It must never be used for anything else; whatever can be read through the API is read there. */
import { Redis } from 'ioredis';

/** What belongs to the installation and not to any directive: the catalog of tools, and what BullMQ keeps once for each lane. */
const PERMANENT = [/^chaos:catalog$/, /^\{chaos:[^}]+\}:[^:]+:(meta|id|marker|events)$/];
/** BullMQ's own events are cut to about a hundred; Redis cuts whole nodes. */
const MOST_EVENTS = 300;

/** Keys without an expiry that nobody is known to need. */
export async function leftovers(redisUrl: string): Promise<string[]> {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const left: string[] = [];
  for await (const keys of redis.scanStream({ count: 1_000 }) as AsyncIterable<string[]>) {
    for (const key of keys) {
      if (key.endsWith(':events') && (await redis.xlen(key)) > MOST_EVENTS) left.push(`${key} grows`);
      if (PERMANENT.some((pattern) => pattern.test(key))) continue;
      if ((await redis.pttl(key)) === -1) left.push(`${key} (${await redis.type(key)})`);
    }
  }
  redis.disconnect();
  return left;
}
