// A random value that all processes of an installation share, made by the first that asks.
// Must never be shown or logged: what it seals is trusted.
import { randomBytes } from 'node:crypto';
import type { RedisConnection } from '../../platform/redis/connection.ts';

const BYTES = 32;

/** Rejects when Redis does not answer. The value stays: what it has sealed outlives every process. */
export async function sharedSecret(
  connection: Pick<RedisConnection, 'set' | 'get'>,
  key: string,
): Promise<string> {
  // Read first: a Redis that takes no writes for a moment still answers.
  const known = await connection.get(key);
  if (known !== null) return known;
  await connection.set(key, randomBytes(BYTES).toString('hex'), 'NX');
  const secret = await connection.get(key);
  if (secret === null) throw new Error(`${key} was removed from Redis`);
  return secret;
}
