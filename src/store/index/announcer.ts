// Announces a check in the sweep index some time from now, by the clock of the Redis that has it. Never uses a clock
// that it has not read just before: after a failover the master has another clock.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import type { RunScript } from '../scripts.ts';

/** An earlier check that was agreed stays. Resolves to the score of the new entries. */
export type Announce = (members: readonly string[], afterMs: number) => Promise<string>;

/** Redis' clock as it was `readAt`, or a little earlier: milliseconds since the epoch. */
interface Reading {
  readonly time: number;
  readonly readAt: number;
}

/** So long the clock goes on as this process' does. */
const FRESH_MS = 1_000;
/** A later answer would set the clock back by more than this. */
const LONGEST_ANSWER_MS = 250;

/**
 * On a cluster one master has all entries, of directives of all masters: a command with the instant is half the work of a script that
 * reads the clock. On one Redis the scripts of a directive write most entries.
 * `now`: milliseconds on a clock that only goes forward.
 */
export function createAnnouncer(
  connection: Pick<RedisConnection, 'isCluster' | 'zadd'>,
  { sweep }: Pick<KeySpace, 'sweep'>,
  run: RunScript,
  now: () => number = () => performance.now(),
): Announce {
  let known: Reading | null = null;

  async function byItsClock(members: readonly string[], afterMs: number): Promise<string> {
    const askedAt = now();
    const [score] = await run('index-add', [sweep], [afterMs, ...members]);
    const readAt = now();
    // @guard announced-by-late-answer
    if (connection.isCluster && readAt - askedAt <= LONGEST_ANSWER_MS)
      known = { time: Number(score) - afterMs, readAt };
    return String(score);
  }

  async function at(score: string, members: readonly string[]): Promise<string> {
    await connection.zadd(sweep, 'LT', ...members.flatMap((member) => [score, member]));
    return score;
  }

  return async (members, afterMs) => {
    const sinceMs = known === null ? Infinity : now() - known.readAt;
    // @guard announced-by-old-clock
    if (known === null || sinceMs > FRESH_MS) return byItsClock(members, afterMs);
    return at(String(Math.round(known.time + sinceMs + afterMs)), members);
  };
}
