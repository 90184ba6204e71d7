// What each worker allows of each lane over all workers, and the tightest of it, which holds for all.
// Must never let the limit of a worker that is gone hold for ever, nor one that restarts be missed in between.
import * as z from 'zod';
import type { RedisConnection } from '../redis.ts';
import type { KeySpace } from './keys.ts';
import { publishFields } from './presence.ts';

const limitSchema = z.object({
  /** Attempts at once over all workers; null = no such limit. */
  concurrency: z.number().nullable(),
  /** Attempts that begin in a period over all workers; null = no such limit. */
  rate: z.object({ max: z.number(), per_ms: z.number() }).nullable(),
});

export type LaneLimit = z.infer<typeof limitSchema>;

const entrySchema = z.object({
  lanes: z.record(z.string(), limitSchema),
  /** Milliseconds since the epoch, by the worker's clock. */
  seenAt: z.number(),
});

export type LaneLimits = ReturnType<typeof createLaneLimits>;

/** One that has not said so for this long is gone. Workers say so every minute. */
const GONE_AFTER_MS = 150_000;

export const NO_LIMIT: LaneLimit = { concurrency: null, rate: null };

/** Of two limits each part that allows less. */
export function tighter(one: LaneLimit, other: LaneLimit): LaneLimit {
  const [a, b] = [one.concurrency ?? Infinity, other.concurrency ?? Infinity];
  const least = Math.min(a, b);
  return { concurrency: least === Infinity ? null : least, rate: slower(one.rate, other.rate) };
}

function slower(one: LaneLimit['rate'], other: LaneLimit['rate']): LaneLimit['rate'] {
  if (one === null || other === null) return one ?? other;
  return one.max / one.per_ms <= other.max / other.per_ms ? one : other;
}

export function createLaneLimits(connection: RedisConnection, keys: KeySpace, now: () => number = Date.now) {
  /** Says what this worker allows, until it says something else or is silent. */
  async function announce(worker: string, lanes: Readonly<Record<string, LaneLimit>>): Promise<void> {
    const said = JSON.stringify({ lanes, seenAt: now() });
    await publishFields(connection, keys.laneLimits, [worker, said]);
  }

  /** Lane → what all workers that are there allow of it. */
  async function read(): Promise<Map<string, LaneLimit>> {
    const entries = Object.entries(await connection.hgetall(keys.laneLimits));
    const parsed = entries.map(([worker, json]) => [worker, entrySchema.parse(JSON.parse(json))] as const);
    const gone = parsed.filter(([, { seenAt }]) => now() - seenAt >= GONE_AFTER_MS);
    if (gone.length > 0) await connection.hdel(keys.laneLimits, ...gone.map(([worker]) => worker));
    const tightest = new Map<string, LaneLimit>();
    for (const [, { lanes, seenAt }] of parsed) {
      if (now() - seenAt >= GONE_AFTER_MS) continue;
      for (const [lane, limit] of Object.entries(lanes))
        tightest.set(lane, tighter(tightest.get(lane) ?? NO_LIMIT, limit));
    }
    return tightest;
  }

  return { announce, read };
}
