// Asks a Redis one question; reports why it does not answer and what to do.
// Must never wait for a Redis that is known to be away, nor leave a connection open.
import { shownAddress } from './address.ts';
import { closeRedis, connectRedis, nodeError, type RedisConnection } from './connection.ts';

/** Redis does not answer; the message names the address and the reason. */
export class RedisAway extends Error {
  override readonly name = 'RedisAway';
  readonly fix: string;

  /** `nodeError`: why a single node of a cluster was not reached. */
  constructor(url: string, reason: Error, nodeError: Error | null = null) {
    const why = whyOf(reason, nodeError);
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
    if (!connection.isCluster) return refused.reject(new RedisAway(url, error));
    void nodeError(url).then((reason) => refused.reject(new RedisAway(url, error, reason)));
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

function whyOf(error: Error, nodeError: Error | null): string {
  if (error.message.startsWith('Command timed out')) return 'no answer within 5 s';
  if (error.name === 'ClusterAllFailedError') return withReason('no node of the cluster answers', nodeError);
  const sentinel = /^All sentinels[^]*Last error: (?<reason>[^]*)$/.exec(error.message)?.groups?.['reason'];
  if (sentinel !== undefined) return `no sentinel answers: ${sentinel}`;
  if (error.message.startsWith('All sentinels')) return 'no sentinel answers';
  return messageOf(error);
}

function withReason(what: string, reason: Error | null): string {
  return reason === null ? what : `${what}: ${messageOf(reason)}`;
}

function messageOf(error: Error): string {
  return error.message || ('code' in error ? String(error.code) : error.name);
}

function fixFor(why: string): string {
  if (/NOAUTH|WRONGPASS/.test(why)) return 'Correct the user and password in REDIS_URL.';
  if (/certificate|self[- ]signed|altname/i.test(why))
    return 'Use a name that the certificate holds, and name its authority in NODE_EXTRA_CA_CERTS.';
  return 'Start it, or correct REDIS_URL.';
}
