// The thread that beats for a worker: leases are extended even while executors keep the main thread busy.
// Must never do anything else, so that nothing can make it late.
import { parentPort, workerData } from 'node:worker_threads';
import { createJournal, type ClaimRef } from '../journal/journal.ts';
import { keySpace } from '../journal/keys.ts';
import { connectRedis } from '../redis.ts';
import { createHeartbeat } from './heartbeat.ts';

/** What the thread is started with. */
export interface HeartbeatThreadData {
  redisUrl: string;
  prefix: string;
  leaseMs: number;
}

/** From the worker: attempts that began and ended since the last message. */
export interface WatchMessage {
  began: readonly { key: number; claim: ClaimRef }[];
  ended: readonly number[];
}

/** To the worker: an attempt should stop, or Redis could not be told. */
export type BeatMessage =
  | { kind: 'stop'; key: number; reason: 'cancelled' | 'lost' }
  | { kind: 'error'; message: string };

function run({ redisUrl, prefix, leaseMs }: HeartbeatThreadData): void {
  const connection = connectRedis(redisUrl, 'commands');
  // An extension needs no retention: it never closes a request.
  const journal = createJournal({ connection, keys: keySpace(prefix), retentionMs: 0 });
  const tell = (message: BeatMessage): void => parentPort?.postMessage(message);
  const heartbeat = createHeartbeat({
    journal,
    leaseMs,
    onError: ({ message }) => tell({ kind: 'error', message }),
  });
  const watched = new Map<number, () => void>();
  parentPort?.on('message', ({ began, ended }: WatchMessage) => {
    for (const { key, claim } of began) {
      watched.set(
        key,
        heartbeat.watch(claim, (reason) => tell({ kind: 'stop', key, reason })),
      );
    }
    for (const key of ended) {
      watched.get(key)?.();
      watched.delete(key);
    }
  });
}

run(workerData as HeartbeatThreadData);
