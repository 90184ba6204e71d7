// Logins whose callback has come, in Redis: one sorted set of hashes, score = when each may be forgotten.
// Must never let a callback count twice, whichever API it reaches, nor hold more than some of them.
import type { KeySpace } from '../../store/keys.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { digestOf } from './key-text.ts';
import { LOGIN_MS } from './login-seal.ts';

/** In ten minutes; what is above is forgotten earlier, and the issuer still takes a code once. */
const MOST_LOGINS = 10_000;

/** Whether it was not spent before. */
export type SpendLogin = (state: string) => Promise<boolean>;

export function createSpentLogins(
  connection: RedisConnection,
  { spentLogins }: Pick<KeySpace, 'spentLogins'>,
  now: () => number = Date.now,
): SpendLogin {
  return async (state) => {
    const until = now() + LOGIN_MS;
    // One transaction: a process that dies between leaves no set without its end.
    const results = await connection
      .multi()
      .zadd(spentLogins, 'NX', until, digestOf(state))
      .zremrangebyscore(spentLogins, 0, now())
      .zremrangebyrank(spentLogins, 0, -1 - MOST_LOGINS)
      .pexpireat(spentLogins, until)
      .exec();
    for (const [error] of results ?? []) if (error !== null) throw error;
    return results?.[0]?.[1] === 1;
  };
}
