// Asks a Redis one question; reports why it does not answer and what to do.
// Must never wait for a Redis that is known to be away, nor leave a connection open.
import { shownAddress } from './address.ts';
import { closeRedis, connectRedis, type RedisConnection } from './connection.ts';

/** Redis does not answer; the message names the address and the reason. */
export class RedisAway extends Error {
  override readonly name = 'RedisAway';
  readonly fix: string;

  constructor(url: string, reason: Error) {
    const why = whyOf(reason);
    super(`does not answer at ${shownAddress(url)}: ${why}`, { cause: reason });
    this.fix = fixFor(why);
  }
}

/** Connects for one question. Throws `RedisAway` as soon as it is clear that Redis does not answer. */
export async function askRedis<T>(
  url: string,
  question: (connection: RedisConnection) => Promise<T>,
): Promise<T> {
  const connection = connectRedis(url, 'submit');
  const refused = Promise.withResolvers<never>();
  const given = { away: false };
  connection.on('error', (error: Error) => {
    if (!isFinal(connection, error)) return;
    given.away = true;
    refused.reject(new RedisAway(url, error));
  });
  try {
    return await Promise.race([question(connection), refused.promise]);
  } catch (error) {
    const isSilence =
      error instanceof Error && /^Command timed out|^Connection is closed/.test(error.message);
    throw isSilence && !given.away ? new RedisAway(url, error) : error;
  } finally {
    await closeRedis(connection);
  }
}

/** One sentinel or node may fail during a change of masters: it is final only when all fail. */
function isFinal(connection: RedisConnection, { name, message }: Error): boolean {
  if (name === 'ClusterAllFailedError' || message.startsWith('All sentinels are unreachable')) return true;
  return !connection.isCluster && !('sentinels' in connection.options && connection.options.sentinels);
}

function whyOf(error: Error): string {
  if (error.message.startsWith('Command timed out')) return 'no answer within 5 s';
  if (error.name === 'ClusterAllFailedError') return 'no node of the cluster answers';
  if (error.message.startsWith('All sentinels')) return 'no sentinel answers';
  return error.message || ('code' in error ? String(error.code) : error.name);
}

function fixFor(why: string): string {
  if (/NOAUTH|WRONGPASS|NOPERM/.test(why)) return 'Correct the user and password in REDIS_URL.';
  return 'Start it, or correct REDIS_URL.';
}
