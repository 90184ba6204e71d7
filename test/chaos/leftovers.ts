/** What is left in Redis after the retention: no key that stays for ever.
 *  It must never be used for anything else; what the API shows is read there. */
import { Redis } from 'ioredis';

/** What belongs to the installation and not to any directive: the catalogs of tools, models and agents, who works, the list of lanes with
 *  their limits and places, and what BullMQ keeps once for each lane. */
const PERMANENT = [
  /^chaos:(catalog|models|agents|workers|lanes|lane-limits|gates)$/,
  /^chaos:\{access\}:(keys|uses|changes|submissions(:hostile)?|spent:[\w~/.-]+|sessions:\w+)$/,
  /^chaos:payloads:(name|sweeper)$/,
  /^chaos:\{budgets\}:/,
  /^\{chaos:changed-requests\}:taken$/,
  /^chaos:(archive|changed-requests|search-tenants|list-build)$/,
  /^chaos:\{search:[^}]+\}:/,
  /^chaos:\{schedules\}:/,
  // At most 400 days after their last count; a day and a month after the process was there.
  /^chaos:\{stats:[^}]+\}:/,
  /^chaos:(output|process):/,
  // One for each key, an hour after its last use.
  /^chaos:\{once\.[0-9a-f]+\}:once$/,
  /^chaos:\{lane:[^}]+\}:(serial|place)$/,
  /^\{chaos:[^}]+\}:[^:]+:(meta|id|marker|events|failed)$/,
];
/** BullMQ trims its own events to about a hundred; Redis trims whole nodes. */
const MOST_EVENTS = 300;

/** A lane keeps its newest failed jobs for a day: include-failed.lua bounds them by count and age. */
async function isFailedJob(redis: Redis, key: string): Promise<boolean> {
  const [, lane, id] = /^(\{chaos:[^}]+\}:[^:]+):(d[\w-]{20})$/.exec(key) ?? [];
  return lane !== undefined && id !== undefined && (await redis.zscore(`${lane}:failed`, id)) !== null;
}

/** Keys with no known use that would stay for ever, or longer than the retention. */
export async function leftovers(redisUrl: string, retentionMs: number): Promise<string[]> {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const left: string[] = [];
  for await (const keys of redis.scanStream({ count: 1_000 }) as AsyncIterable<string[]>) {
    for (const key of keys) {
      if (key.endsWith(':events') && (await redis.xlen(key)) > MOST_EVENTS) left.push(`${key} grows`);
      if (PERMANENT.some((pattern) => pattern.test(key))) continue;
      if (await isFailedJob(redis, key)) continue;
      const expiryMs = await redis.pttl(key);
      if (expiryMs === -1 || expiryMs > retentionMs)
        left.push(`${key} (${await redis.type(key)}, ${expiryMs} ms)`);
    }
  }
  redis.disconnect();
  return left;
}
