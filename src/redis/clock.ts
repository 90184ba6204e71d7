// The clock of Redis: one for all processes, whose own may differ by minutes.
// Must never be taken for the clock of this process.
import type { RedisConnection } from './connection.ts';
import { clockMovedBy } from './moved-clock.ts';

/** Reads it: milliseconds since the epoch. */
export function redisClock(connection: RedisConnection): () => Promise<number> {
  return async () => {
    const [seconds, microseconds] = await connection.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000) + clockMovedBy();
  };
}
