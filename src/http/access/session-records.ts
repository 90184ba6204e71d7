// The sessions of browsers in Redis: for each key a sorted set of hashes, score = when each ends.
// Must never hold more than some sessions of a key, nor one that outlives its time.
import type { KeySpace } from '../../store/keys.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';

/** Maximum number of sessions of one key at once; the one that ends first is removed. */
const MOST_SESSIONS = 64;

export interface SessionRecords {
  add(keyId: string, member: string, untilAt: number): Promise<void>;
  /** When it ends, milliseconds since the epoch; null: there is none. */
  untilAt(keyId: string, member: string): Promise<number | null>;
  /** Whether there was one. */
  remove(keyId: string, member: string): Promise<boolean>;
}

export function createSessionRecords(
  connection: RedisConnection,
  { sessions }: Pick<KeySpace, 'sessions'>,
  now: () => number = Date.now,
): SessionRecords {
  return {
    async add(keyId, member, untilAt) {
      const key = sessions(keyId);
      // One transaction: a process that dies between leaves no set without its end.
      const results = await connection
        .multi()
        .zadd(key, untilAt, member)
        .zremrangebyscore(key, 0, now())
        .zremrangebyrank(key, 0, -1 - MOST_SESSIONS)
        .pexpireat(key, untilAt, 'NX')
        .pexpireat(key, untilAt, 'GT')
        .exec();
      for (const [error] of results ?? []) if (error !== null) throw error;
    },
    async untilAt(keyId, member) {
      const score = await connection.zscore(sessions(keyId), member);
      const at = score === null ? 0 : Number(score);
      return at > now() ? at : null;
    },
    async remove(keyId, member) {
      return (await connection.zrem(sessions(keyId), member)) > 0;
    },
  };
}
