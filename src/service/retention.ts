// How long closed requests are kept: as configured at least, and longer while Redis has memory for it.
// Must never promise the longer time: a request that closes while memory is scarce goes after the shorter one.
import type { Config } from '../config/config.ts';
import { memoryFacts, memoryLimit } from '../directives/memory-room.ts';
import { mastersOf, type RedisConnection } from '../platform/redis/connection.ts';
import { createLoop, type Startable } from '../platform/lifecycle.ts';

/** While more of its memory is used, nothing is kept for longer than configured: three quarters remain for what goes on. */
const SHARE_FOR_HISTORY = 0.25;
const READ_EVERY_MS = 10_000;
const LONGEST_STOP_MS = 1_000;

export interface Retention extends Startable {
  /** For a request that closes now, milliseconds. */
  closedMs(): number;
}

/** From the longest time with an empty Redis down to the configured one where a quarter of its memory is used. null: unknown. */
export function closedMsAt(
  { closed_ms: least, longest_ms: most }: Config['retention'],
  usedShare: number | null,
): number {
  if (usedShare === null || most <= least) return least;
  const free = Math.max(0, 1 - usedShare / SHARE_FOR_HISTORY);
  return Math.round(least + (most - least) * free);
}

export function createRetention(
  connection: () => RedisConnection | null,
  { retention, limits }: Pick<Config, 'retention' | 'limits'>,
  onError: (error: Error) => void,
): Retention {
  let closedMs = retention.closed_ms;

  /** The share of the fullest master; null: no limit is known. */
  async function usedShare(on: RedisConnection): Promise<number | null> {
    const masters = await mastersOf(on);
    const shares = await Promise.all(
      masters.map(async (master) => {
        const facts = memoryFacts(await master.info('memory'));
        const limit = memoryLimit(facts, limits.total_bytes);
        return limit === null ? null : facts.used / limit;
      }),
    );
    return shares.includes(null) ? null : Math.max(...shares.map(Number));
  }

  async function refresh(): Promise<void> {
    const on = connection();
    if (on === null || retention.longest_ms <= retention.closed_ms) return;
    closedMs = closedMsAt(retention, await usedShare(on));
  }

  const loop = createLoop({
    name: 'retention',
    work: refresh,
    everyMs: READ_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return { ...loop, closedMs: () => closedMs };
}
