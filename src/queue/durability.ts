// How durable an acceptance is before it is confirmed: in memory, on disk, or on a replica too.
// Must never confirm what the chosen durability has not been told by Redis.
import { ServiceUnavailable } from '../contract/problem.ts';
import type { RedisConnection } from '../redis.ts';

/**
 * `memory`: as durable as Redis' own settings make it (AOF everysec: a power loss may cost the last second).
 * `fsync`: the append-only file was flushed (WAITAOF, Redis 7.2 or later; or `appendfsync always`).
 * `replica`: at least one replica has it (WAIT).
 */
export type Durability = 'memory' | 'fsync' | 'replica';

/** Resolves when everything this connection wrote before is that durable. */
export type Confirm = () => Promise<void>;

const LONGEST_WAIT_MS = 2_000;
const RETRY_AFTER_MS = 1_000;

function notConfirmed(what: string): ServiceUnavailable {
  return new ServiceUnavailable(`the submission is accepted, but ${what}: submit it again to be sure`, {
    retryAfterMs: RETRY_AFTER_MS,
  });
}

async function flushedToDisk(connection: RedisConnection): Promise<void> {
  const reply = (await connection.call('WAITAOF', '1', '0', String(LONGEST_WAIT_MS))) as [number, number];
  if (reply[0] < 1) throw notConfirmed('Redis has not flushed it to disk in time');
}

async function onReplica(connection: RedisConnection): Promise<void> {
  const replicas = (await connection.call('WAIT', '1', String(LONGEST_WAIT_MS))) as number;
  if (replicas < 1) throw notConfirmed('no replica has it yet');
}

/**
 * How to confirm on `connection`; null when nothing needs to be asked.
 * Throws a sentence with the remedy when this Redis cannot keep `durability`.
 */
export async function confirmation(
  connection: RedisConnection,
  durability: Durability,
): Promise<Confirm | null> {
  if (durability === 'memory') return null;
  if (connection.isCluster) {
    throw new Error(
      `durability "${durability}" needs one master: on a cluster use appendfsync always and "memory"`,
    );
  }
  if (durability === 'replica') return () => onReplica(connection);
  const setting = (await connection.call('CONFIG', 'GET', 'appendfsync').catch(() => null)) as
    | string[]
    | null;
  if (setting?.[1] === 'always') return null;
  const known = (await connection.call('COMMAND', 'INFO', 'WAITAOF')) as unknown[];
  if (!known[0]) throw new Error('durability "fsync" needs Redis 7.2 or later, or appendfsync always');
  return () => flushedToDisk(connection);
}
