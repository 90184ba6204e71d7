// What each worker allows of each lane over all workers, and the tightest of it, which holds for all.
// Must never let the limit of a worker that is gone hold for ever, nor one that restarts be missed in between.
import * as z from 'zod';
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from '../journal/keys.ts';
import { FORGOTTEN_AFTER_MS } from './presence.ts';
import { prepareScripts } from '../journal/scripts.ts';

const limitSchema = z.object({
  /** Attempts at once over all workers; null = no such limit. */
  concurrency: z.number().nullable(),
  /** Attempts that begin in a period over all workers; null = no such limit. */
  rate: z.object({ max: z.number(), per_ms: z.number() }).nullable(),
});

export type LaneLimit = z.infer<typeof limitSchema>;

const limitsSchema = z.record(z.string(), limitSchema);

export type LaneLimits = ReturnType<typeof createLaneLimits>;

/** One that has not said so for this long, by the clock of Redis, is gone. Workers say so every minute. */
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

export function createLaneLimits(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);

  /** Says what this worker allows, until it says something else or is silent. */
  async function announce(worker: string, lanes: Readonly<Record<string, LaneLimit>>): Promise<void> {
    await run('limits-announce', [keys.laneLimits], [worker, JSON.stringify(lanes), FORGOTTEN_AFTER_MS]);
  }

  /** Lane → what all workers that are there allow of it. */
  async function read(): Promise<Map<string, LaneLimit>> {
    const said = await run('limits-read', [keys.laneLimits], [GONE_AFTER_MS]);
    const tightest = new Map<string, LaneLimit>();
    for (const json of said) {
      const lanes = limitsSchema.parse(JSON.parse(String(json)));
      for (const [lane, limit] of Object.entries(lanes))
        tightest.set(lane, tighter(tightest.get(lane) ?? NO_LIMIT, limit));
    }
    return tightest;
  }

  return { announce, read };
}
