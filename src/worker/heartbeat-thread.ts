// The thread that beats for a worker: leases are extended even while executors keep the main thread busy, for a bounded time.
// Must never do anything else, so that nothing can make it late.
import { parentPort, workerData } from 'node:worker_threads';
import { keySpace } from '../store/keys.ts';
import { createLeases } from '../store/limits/leases.ts';
import { prepareSome } from '../store/scripts.ts';
import { endLoading } from '../platform/heap.ts';
import { connectRedis } from '../platform/redis/connection.ts';
import { readClaims, signsOfLife, type TableEntry } from './claim-table.ts';

/** The data that the thread is started with. */
export interface HeartbeatThreadData {
  redisUrl: string;
  prefix: string;
  leaseMs: number;
  /** A main thread without a sign of life for this long is blocked for good: its claims are extended no more. Milliseconds. */
  blockedMs: number;
  /** The claim table. */
  memory: SharedArrayBuffer;
}

/** To the worker: an attempt should stop, or Redis could not be told. */
export type BeatMessage =
  | { kind: 'stop'; slot: number; generation: number; reason: 'cancelled' | 'lost' }
  | { kind: 'error'; message: string };

/** A claim is extended this often within its lease; attempts that end before the first time cost nothing. */
const BEATS_PER_LEASE = 3;
const LOOKS_PER_BEAT = 4;

/** How long the count of signs has stood still, by this thread's own clock. */
function silenceOf(memory: SharedArrayBuffer): () => number {
  let [signs, changedAt] = [signsOfLife(memory), performance.now()];
  return () => {
    const now = signsOfLife(memory);
    if (now !== signs) [signs, changedAt] = [now, performance.now()];
    return performance.now() - changedAt;
  };
}

function beatFor({ redisUrl, prefix, leaseMs, blockedMs, memory }: HeartbeatThreadData): void {
  const connection = connectRedis(redisUrl, 'commands');
  const run = prepareSome(connection, ['extend', 'gate-extend']);
  const leases = createLeases(run, keySpace(prefix));
  const periodMs = Math.max(20, Math.floor(leaseMs / BEATS_PER_LEASE));
  const silenceMs = silenceOf(memory);
  let isBlocked = false;
  const tell = (message: BeatMessage): void => parentPort?.postMessage(message);
  /** When a use of a slot is due again; one beat of it is under way while this is Infinity. */
  const dueAt = new Map<string, number>();

  /** The pass ends with its claim, and a claim without its pass is of no use. */
  async function extend({ claim, pass }: TableEntry): Promise<'extended' | 'cancelled' | 'lost'> {
    const [verdict, holds] = await Promise.all([
      leases.extendClaim(claim, leaseMs),
      pass === null || leases.extendPass(pass.lane, claim, { token: pass.token, leaseMs }),
    ]);
    return holds ? verdict : 'lost';
  }

  async function beat(key: string, entry: TableEntry): Promise<void> {
    const { slot, generation } = entry;
    dueAt.set(key, Infinity);
    try {
      const verdict = await extend(entry);
      if (verdict !== 'extended') tell({ kind: 'stop', slot, generation, reason: verdict });
    } catch (error) {
      tell({ kind: 'error', message: error instanceof Error ? error.message : String(error) });
    }
    dueAt.set(key, Date.now() + periodMs);
  }

  /** Said once for each time; the main thread reads it when it goes on. */
  function noteBlocked(): boolean {
    const wasBlocked = isBlocked;
    isBlocked = silenceMs() > blockedMs;
    if (isBlocked && !wasBlocked) tell({ kind: 'error', message: blockedMessage(blockedMs) });
    return isBlocked;
  }

  function look(): void {
    if (noteBlocked()) return;
    const now = Date.now();
    const entries = readClaims(memory, now - periodMs);
    const living = new Set(entries.map(({ slot, generation }) => `${slot}/${generation}`));
    for (const key of dueAt.keys()) if (!living.has(key)) dueAt.delete(key);
    for (const entry of entries) {
      const key = `${entry.slot}/${entry.generation}`;
      if ((dueAt.get(key) ?? 0) <= now) void beat(key, entry);
    }
  }

  setInterval(look, Math.max(5, Math.floor(periodMs / LOOKS_PER_BEAT)));
}

function blockedMessage(blockedMs: number): string {
  return `the event loop was blocked for more than ${blockedMs} ms: this worker's claims were not extended, and others may have taken them over`;
}

parentPort?.once('message', () => process.exit());
endLoading();
beatFor(workerData as HeartbeatThreadData);
