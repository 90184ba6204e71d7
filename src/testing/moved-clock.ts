/** The clock of the service under test: a test moves it forward, and leases, deadlines, delays and schedules see it.
 *  It must never go back: what has ended would be open again. */
import { lengthOfTime } from '../contract/length-of-time.ts';
import { connectRedis, closeRedis } from '../platform/redis/connection.ts';
import { MOVED_CLOCK_KEY } from '../platform/redis/clock.ts';
import type { ServiceProcess } from './service-process.ts';

/** Clock of the services that a test moves forward. */
export interface MovedClock {
  /** The instant of the service, milliseconds since the epoch. */
  now(): number;
  /**
   * Moves it forward: milliseconds, or as in `30s`, `15m`, `2h`, `7d`. Timers of calls under way run in real time, and so does
   * the removal of what has ended.
   */
  advance(by: number | string): Promise<void>;
}

const LENGTH = /^(?<count>\d{1,9})(?<unit>ms|s|m|h|d)$/;

export interface ClockParts {
  /** Address of the Redis itself: it may be cut from the service. */
  readonly redisUrl: string;
  readonly processes: () => readonly ServiceProcess[];
}

export function createMovedClock({ redisUrl, processes }: ClockParts): MovedClock & { movedMs(): number } {
  let movedMs = 0;
  return {
    now: () => Date.now() + movedMs,
    movedMs: () => movedMs,
    async advance(by) {
      movedMs += lengthOf(by);
      const connection = connectRedis(redisUrl, 'commands');
      try {
        await connection.set(MOVED_CLOCK_KEY, movedMs);
      } finally {
        await closeRedis(connection);
      }
      for (const each of processes()) each.moveClock(movedMs);
    },
  };
}

/** Throws for what is no length of time. */
function lengthOf(by: number | string): number {
  const ms = typeof by === 'number' ? by : lengthOfTime(by, LENGTH);
  if (ms !== null && Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw new Error(
    `The clock moves forward by milliseconds, or as in '90s', '15m', '2h', '7d'; not by ${String(by)}.`,
  );
}
