// Which workers are present and what each of them serves, in a hash that also holds what they publish.
// Must never decide what happens to work that no worker serves.
import { setTimeout as wait } from 'node:timers/promises';
import type { RedisConnection } from '../../platform/redis/connection.ts';

/** How often workers announce that they are present. */
export const PRESENT_EVERY_MS = 60_000;
/** A worker without an announcement for this long is gone. */
const GONE_AFTER_MS = 150_000;
/** The lanes of a deregistered worker count as served for this much longer: the worker may be restarting. */
const RESTART_MS = 20_000;
/** How long a stop waits until its deregistration is written. */
const DEREGISTER_MS = 500;
/** A worker's entry, and what only it served, is kept a day; the whole hash a day after the last write. */
export const FORGOTTEN_AFTER_MS = 86_400_000;

/** No name of a server, provider or alias begins with this. */
const WORKER = 'worker:';

interface PresentWorker {
  serves: string[];
  /** Milliseconds since the epoch, by the clock of Redis. */
  seenAt: number;
}

export function isPresence(field: string): boolean {
  return field.startsWith(WORKER);
}

/** Whether a field is no longer needed; `served`: the names that were served within a day. */
export type IsForgotten = (field: string, value: string, served: ReadonlySet<string>, now: number) => boolean;

/** Milliseconds since the epoch. */
export type Clock = () => number | Promise<number>;

/** Writes fields of the hash, which expires a day after the last write. */
export async function publishFields(
  connection: RedisConnection,
  key: string,
  fields: readonly (string | number)[],
): Promise<void> {
  if (fields.length === 0) return;
  await connection
    .multi()
    .hset(key, ...fields)
    .pexpire(key, FORGOTTEN_AFTER_MS)
    .exec();
}

export function createPresence(
  connection: RedisConnection,
  key: string,
  clock: Clock,
  isForgotten: IsForgotten,
) {
  function seenSince(fields: Readonly<Record<string, string>>, at: number): [string, PresentWorker][] {
    return Object.entries(fields)
      .filter(([field]) => isPresence(field))
      .map(([field, json]): [string, PresentWorker] => [field, JSON.parse(json) as PresentWorker])
      .filter(([, { seenAt }]) => seenAt > at);
  }

  /** Returns the names of all fields in the hash. */
  async function register(worker: string, serves: readonly string[]): Promise<ReadonlySet<string>> {
    const now = await clock();
    const announcement = JSON.stringify({ serves, seenAt: now });
    await publishFields(connection, key, [`${WORKER}${worker}`, announcement]);
    // Killed workers never deregister.
    const fields = await connection.hgetall(key);
    const kept = new Map(seenSince(fields, now - FORGOTTEN_AFTER_MS));
    const served = new Set([...kept.values()].flatMap(({ serves: names }) => names));
    const gone = Object.entries(fields).filter(([field, value]) =>
      isPresence(field) ? !kept.has(field) : isForgotten(field, value, served, now),
    );
    if (gone.length > 0) await connection.hdel(key, ...gone.map(([field]) => field));
    return new Set(Object.keys(fields));
  }

  /**
   * Lanes that only this worker served are no longer served, unless another worker registers them soon. Does not wait
   * for a Redis that is unreachable: the missing announcements have the same effect.
   */
  async function deregister(worker: string): Promise<void> {
    const left = writeDeregistration(`${WORKER}${worker}`);
    left.catch(() => {});
    await Promise.race([left, wait(DEREGISTER_MS, undefined, { ref: false })]);
  }

  async function writeDeregistration(field: string): Promise<void> {
    const json = await connection.hget(key, field);
    if (json === null) return;
    const { serves } = JSON.parse(json) as PresentWorker;
    const seenAt = (await clock()) - GONE_AFTER_MS + RESTART_MS;
    await publishFields(connection, key, [field, JSON.stringify({ serves, seenAt })]);
  }

  /** Whether a worker serves the name, by the hash as read at `now`. With no known worker, every name counts as served. */
  function servedBy(fields: Readonly<Record<string, string>>, now: number): (name: string) => boolean {
    const present = seenSince(fields, now - GONE_AFTER_MS);
    const served = new Set(present.flatMap(([, { serves }]) => serves));
    return (name) => present.length === 0 || served.has(name);
  }

  return { register, deregister, servedBy };
}
