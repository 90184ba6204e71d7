// The heartbeat of a worker, which extends the leases of running attempts in a thread of its own.
// Must never let the death of that thread go unnoticed: leases would run out under living attempts.
import { Worker } from 'node:worker_threads';
import { claimTableBytes, writeClaims } from './claim-table.ts';
import type { BeatMessage, HeartbeatThreadData } from './heartbeat-thread.ts';
import type { Pass } from '../queue/gated-lanes.ts';
import type { ClaimRef } from '../store/refs.ts';

export interface ThreadedHeartbeatOptions extends Omit<HeartbeatThreadData, 'memory' | 'blockedMs'> {
  /** How long claims are extended without a sign of life from this thread, milliseconds. Default: 60 000. */
  blockedMs?: number;
  /** Attempts at once in this process, at most. Default: 1 024. */
  slots?: number;
  onError: (error: Error) => void;
}

interface Watched {
  generation: number;
  stop: StopAttempt;
}

/** Beside this file, in source and in the build. */
const THREAD_FILE = new URL(
  `./heartbeat-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
);

const DEFAULT_SLOTS = 1_024;
const DEFAULT_BLOCKED_MS = 60_000;
const MAX_SIGN_PERIOD_MS = 1_000;

export function createThreadedHeartbeat({
  slots = DEFAULT_SLOTS,
  blockedMs = DEFAULT_BLOCKED_MS,
  onError,
  ...data
}: ThreadedHeartbeatOptions): Heartbeat {
  const memory = new SharedArrayBuffer(claimTableBytes(slots));
  const claims = writeClaims(memory);
  const watched = new Map<number, Watched>();
  let closed = false;
  let thread = startThread();
  const living = setInterval(() => claims.live(), Math.min(MAX_SIGN_PERIOD_MS, blockedMs / 4));
  living.unref();

  function startThread(): Worker {
    const started = new Worker(THREAD_FILE, {
      workerData: { ...data, blockedMs, memory } satisfies HeartbeatThreadData,
    });
    started.unref();
    started.on('message', hear);
    started.on('error', onError);
    started.once('exit', restart);
    return started;
  }

  /** The claims are in the table: a new thread finds them there. */
  function restart(): void {
    if (closed) return;
    onError(new Error('the heartbeat thread ended and is started again'));
    thread = startThread();
  }

  function hear(message: BeatMessage): void {
    if (message.kind === 'error') return onError(new Error(message.message));
    const entry = watched.get(message.slot);
    if (entry?.generation === message.generation) entry.stop(message.reason);
  }

  return {
    watch(claim, stop, pass = null) {
      const place = claims.put(claim, Date.now(), pass);
      if (!place) throw new Error(`more than ${slots} attempts at once`);
      const { slot, generation } = place;
      watched.set(slot, { generation, stop });
      return () => {
        if (watched.get(slot)?.generation !== generation) return;
        watched.delete(slot);
        claims.remove(slot);
      };
    },
    close() {
      closed = true;
      clearInterval(living);
      watched.clear();
      // The thread ends itself: Node aborts the whole process when a thread is terminated while it still loads its modules.
      thread.postMessage('end');
    },
  };
}

/** Tells the attempt why it should stop. */
type StopAttempt = (reason: 'cancelled' | 'lost') => void;

export interface Heartbeat {
  /** Watches an attempt, and its pass, from a third of its lease on; the returned function ends it. */
  watch(claim: ClaimRef, stop: StopAttempt, pass?: Pass | null): () => void;
  close(): void;
}
