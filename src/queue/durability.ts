// Waits until Redis confirms that a write is as durable as configured: in memory, on disk, or on a replica.
// Must never confirm a write that Redis has not confirmed.
import { ServiceUnavailable } from '../contract/problem.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';

/**
 * `memory`: as durable as Redis' own settings make it (AOF everysec: a power loss may cost the last second).
 * `fsync`: the append-only file was flushed (WAITAOF, Redis 7.2 or later; or `appendfsync always`).
 * `replica`: at least one replica has it (WAIT).
 */
export type Durability = 'memory' | 'fsync' | 'replica';

/** Resolves when the writes since `BeginConfirm` are durable; rejects with `ServiceUnavailable` when that is not certain. */
export type Confirm = () => Promise<void>;

/** Called before a write; its result is called after the write. */
export type BeginConfirm = () => Confirm;

const LONGEST_WAIT_MS = 2_000;
const RETRY_AFTER_MS = 1_000;

function notConfirmed(what: string): ServiceUnavailable {
  return new ServiceUnavailable(`it was written, but ${what}: repeat it to be sure`, {
    retryAfterMs: RETRY_AFTER_MS,
  });
}

async function flushedToDisk(connection: RedisConnection): Promise<void> {
  const reply = (await connection.call('WAITAOF', '1', '0', String(LONGEST_WAIT_MS))) as [number, number];
  if (reply[0] < 1) throw notConfirmed('Redis has not flushed it to disk in time');
}

async function onReplica(connection: RedisConnection): Promise<void> {
  const replicas = await connection.call('WAIT', '1', String(LONGEST_WAIT_MS)).catch((error: Error) => {
    if (error.message.includes('replica instance')) throw notConfirmed('this Redis is a replica by now');
    throw error;
  });
  if (Number(replicas) < 1) throw notConfirmed('no replica has it yet');
}

/** One question to Redis at a time, because it blocks the connection; calls in the meantime share the next question. */
function gathered(ask: () => Promise<void>): () => Promise<void> {
  let asked: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const askNext = (): Promise<void> => {
    next = undefined;
    return ask();
  };
  return () => {
    if (next === undefined) {
      next = asked.then(askNext, askNext);
      asked = next;
    }
    return next;
  };
}

/** Refuses to confirm across a reconnect: the new connection may reach another server, which never got the write. */
function withinOneConnection(connection: RedisConnection, ask: () => Promise<void>): BeginConfirm {
  let losses = 0;
  connection.on('close', () => {
    losses += 1;
  });
  return () => {
    const lossesBefore = losses;
    return async () => {
      await ask();
      if (losses !== lossesBefore) throw notConfirmed('the connection to Redis was lost meanwhile');
    };
  };
}

/**
 * How to confirm on `connection`; null when every write is durable enough by itself. Throws an error that names the remedy
 * when this Redis cannot keep `durability`.
 */
export async function confirmation(
  connection: RedisConnection,
  durability: Durability,
): Promise<BeginConfirm | null> {
  if (durability === 'memory') return null;
  if (connection.isCluster) {
    throw new Error(
      `durability "${durability}" needs one master: on a cluster use appendfsync always and "memory"`,
    );
  }
  const confirmedBy = (ask: typeof onReplica): BeginConfirm =>
    withinOneConnection(
      connection,
      gathered(() => ask(connection)),
    );
  if (durability === 'replica') return confirmedBy(onReplica);
  const setting = (await connection.call('CONFIG', 'GET', 'appendfsync').catch(() => null)) as
    | string[]
    | null;
  if (setting?.[1] === 'always') return null;
  const known = (await connection.call('COMMAND', 'INFO', 'WAITAOF')) as unknown[];
  if (!known[0]) throw new Error('durability "fsync" needs Redis 7.2 or later, or appendfsync always');
  return confirmedBy(flushedToDisk);
}

/** Begins a confirmation, or returns null when none is needed. Asks Redis once which, and again after an error. */
export function confirmations(
  connection: RedisConnection,
  durability: Durability,
): () => Promise<Confirm | null> {
  let asked: Promise<BeginConfirm | null> | undefined;
  let isNeeded = true;
  const begin = async (): Promise<Confirm | null> => {
    asked ??= confirmation(connection, durability).catch((error: unknown) => {
      asked = undefined;
      throw error;
    });
    const found = await asked;
    isNeeded = found !== null;
    return found?.() ?? null;
  };
  const none = Promise.resolve(null);
  return () => (isNeeded ? begin() : none);
}
