// The limits over all workers that each worker sets for its lanes; the tightest one holds for all.
// Must never keep the limit of a dead worker for ever, nor lose that of a worker that restarts.
import * as z from 'zod';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { FORGOTTEN_AFTER_MS } from './presence.ts';
import { prepareScripts } from '../scripts.ts';

const limitSchema = z.object({
  /** Attempts at once over all workers; null = no such limit. */
  concurrency: z.number().nullable(),
  /** Attempts that begin in a period over all workers; null = no such limit. */
  rate: z.object({ max: z.number(), per_ms: z.number() }).nullable(),
});

export type LaneLimit = z.infer<typeof limitSchema>;

const limitsSchema = z.record(z.string(), limitSchema);

export type LaneLimits = ReturnType<typeof createLaneLimits>;

/** A worker without an announcement for this long, by the clock of Redis, is gone. Workers announce every minute. */
const GONE_AFTER_MS = 150_000;

export const NO_LIMIT: LaneLimit = { concurrency: null, rate: null };

/** The tighter part of each of two limits. */
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

  /** Announces what this worker allows; holds until its next announcement, or until the announcements stop. */
  async function announce(worker: string, lanes: Readonly<Record<string, LaneLimit>>): Promise<void> {
    await run('limits-announce', [keys.laneLimits], [worker, JSON.stringify(lanes), FORGOTTEN_AFTER_MS]);
  }

  /** Lane → the limit over all workers that are present. */
  async function read(): Promise<Map<string, LaneLimit>> {
    const announced = await run('limits-read', [keys.laneLimits], [GONE_AFTER_MS]);
    const tightest = new Map<string, LaneLimit>();
    for (const json of announced) {
      const lanes = limitsSchema.parse(JSON.parse(String(json)));
      for (const [lane, limit] of Object.entries(lanes))
        tightest.set(lane, tighter(tightest.get(lane) ?? NO_LIMIT, limit));
    }
    return tightest;
  }

  return { announce, read };
}
