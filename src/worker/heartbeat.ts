// Keeps the leases of running attempts alive, and hears when an attempt should stop.
// Must never extend a lease for an attempt that has ended.
import type { ClaimRef, Journal } from '../journal/journal.ts';

export interface HeartbeatOptions {
  journal: Journal;
  leaseMs: number;
  onError: (error: Error) => void;
}

/** Tells the attempt why it should stop. */
export type StopAttempt = (reason: 'cancelled' | 'lost') => void;

export interface Heartbeat {
  /** Watches an attempt from a third of its lease on; the returned function ends it. */
  watch(claim: ClaimRef, stop: StopAttempt): () => void;
  close(): void;
}

interface Watched {
  claim: ClaimRef;
  stop: StopAttempt;
  dueAt: number;
  beating: boolean;
}

/** One timer serves all attempts; most end before their first beat and cost a map entry. */
export function createHeartbeat({ journal, leaseMs, onError }: HeartbeatOptions): Heartbeat {
  const watched = new Set<Watched>();
  const periodMs = Math.max(50, Math.floor(leaseMs / 3));

  async function beat(entry: Watched): Promise<void> {
    entry.beating = true;
    try {
      const verdict = await journal.extend(entry.claim, leaseMs);
      if (watched.has(entry) && verdict !== 'extended') entry.stop(verdict);
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
    } finally {
      entry.beating = false;
      entry.dueAt = Date.now() + periodMs;
    }
  }

  function tick(): void {
    const now = Date.now();
    for (const entry of watched) if (!entry.beating && entry.dueAt <= now) void beat(entry);
  }

  const timer = setInterval(tick, Math.max(25, Math.floor(periodMs / 4)));
  timer.unref();

  return {
    watch(claim, stop) {
      const entry: Watched = { claim, stop, dueAt: Date.now() + periodMs, beating: false };
      watched.add(entry);
      return () => watched.delete(entry);
    },
    close() {
      clearInterval(timer);
      watched.clear();
    },
  };
}
