// Single facts of a run, for who needs no more of it.
// Must never read its document.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';

export function createRunFacts(connection: RedisConnection, keys: KeySpace) {
  /** The signal that something of this name was posted with; null: nothing was. */
  async function sentSequence(requestId: string, name: string): Promise<number | null> {
    const [state] = keys.request(requestId);
    const posted = await connection.hget(state, `@run|post|${name}`);
    return posted === null ? null : Number(posted.slice(0, posted.indexOf(' ')));
  }

  /** The trace a run belongs to; null when there is no such run. */
  async function traceparent(requestId: string): Promise<string | null> {
    const [state] = keys.request(requestId);
    return connection.hget(state, '@run|trace');
  }

  /** Whether it was started encrypted; null when there is no such run. */
  async function isSealed(requestId: string): Promise<boolean | null> {
    const [state] = keys.request(requestId);
    const digest = await connection.hget(state, '@run|digest');
    return digest === null ? null : digest.startsWith(SEALED_DIGEST);
  }

  return { sentSequence, traceparent, isSealed };
}

/** How the digest of a run begins that was started encrypted: so that nothing else of it need be read. */
export const SEALED_DIGEST = 'sealed.';
