// The store of large payloads of a process: its place, and the removal of unused objects. Never removes an object of an
// existing request, nor while that is unknown.
import { randomUUID } from 'node:crypto';
import { createBucketObjects } from '../features/archive/bucket-objects.ts';
import { createFolderObjects } from '../features/archive/folder-objects.ts';
import type { ObjectStore } from '../features/archive/object-store.ts';
import { createLeftoverRemover } from '../features/archive/payload-leftovers.ts';
import { createPayloadObjects } from '../features/archive/payload-objects.ts';
import type { Config } from '../config/config.ts';
import { requestField, scopedId } from '../contract/access/tenant.ts';
import type { PayloadObjects } from '../store/request/large-payloads.ts';
import { createLoop, type Startable } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import { storeAt } from './store-place.ts';
import type { Store } from './store.ts';

type Place = Pick<Config, 'payloads' | 'directory' | 'prefix'>;

/** null: all payloads are in Redis. */
export function objectStoreOf({
  payloads,
  directory,
}: Pick<Config, 'payloads' | 'directory'>): ObjectStore | null {
  if (payloads === undefined) return null;
  return storeAt(payloads, directory, { folder: createFolderObjects, bucket: createBucketObjects });
}

/** undefined: all payloads are in Redis. */
export function payloadObjectsOf(config: Place, logger: Pick<Logger, 'warn'>): PayloadObjects | undefined {
  const store = objectStoreOf(config);
  if (store === null || config.payloads === undefined) return undefined;
  const { offload_above_bytes: aboveBytes } = config.payloads;
  const objects = createPayloadObjects({ store, installation: config.prefix, aboveBytes });
  const report = awayReports(logger);
  return {
    aboveBytes,
    put: async (requestId, bytes) => objects.put(requestId, bytes).catch(report(requestId)),
    get: async (requestId, ref) => objects.get(requestId, ref).catch(report(requestId)),
    drop: async (requestId, ref) => objects.drop(requestId, ref).catch(report(requestId)),
  };
}

const LOG_EACH_MS = 60_000;

/** Logs an unavailable store, at most a line a minute, with the number of failed calls. */
function awayReports(logger: Pick<Logger, 'warn'>): (requestId: string) => (error: Error) => never {
  let nextAt = 0;
  let failures = 0;
  return (requestId) => (error) => {
    failures += 1;
    if (performance.now() >= nextAt) {
      nextAt = performance.now() + LOG_EACH_MS;
      logger.warn({ ...requestField(requestId), failures, error: error.message }, AWAY);
      failures = 0;
    }
    throw error;
  };
}

const AWAY =
  'the store of large payloads fails: large submissions are refused, results stay in Redis, the rest waits for it';

const EACH_MS = 600_000;
/** A disk that never answers holds up the stop no longer. */
const LONGEST_STOP_MS = 1_000;

/** null: nothing is to be removed here. */
export function payloadSweepOn(
  { connection, keys, records: { journal } }: Store,
  config: Place,
  { onError }: { onError: (error: Error) => void },
): Startable | null {
  const store = objectStoreOf(config);
  if (store === null || store.idleFolders === null) return null;
  const removeLeftovers = createLeftoverRemover({
    store,
    installation: config.prefix,
    exists: async (requestId) => (await journal.head(requestId)) !== null,
    scopedId,
    ...namedRedis({ connection, keys }),
  });
  const hasTurn = turns({ connection, keys }, EACH_MS * 2);
  const loop = createLoop({
    name: 'large payloads',
    async work() {
      if (await hasTurn()) await removeLeftovers(loop.stopping);
    },
    everyMs: EACH_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return loop;
}

type Keyed = Pick<Store, 'connection' | 'keys'>;

/** A name that is lost with all that Redis holds. */
function namedRedis({ connection, keys: { payloadSweep } }: Keyed) {
  const [key] = payloadSweep;
  return {
    redisName: async () => connection.get(key),
    nameRedis: async () => {
      await connection.set(key, randomUUID(), 'NX');
      return (await connection.get(key)) ?? '';
    },
  };
}

/** One process at a time, the same one as long as it lives. A second one would only repeat the work. */
function turns({ connection, keys: { payloadSweep } }: Keyed, holdMs: number): () => Promise<boolean> {
  const [, key] = payloadSweep;
  const me = randomUUID();
  return async () => {
    if ((await connection.set(key, me, 'PX', holdMs, 'NX')) !== null) return true;
    if ((await connection.get(key)) !== me) return false;
    await connection.pexpire(key, holdMs);
    return true;
  };
}
