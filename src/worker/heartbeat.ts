// Extends the leases of running attempts, and aborts an attempt that should stop. Never extends a lease for an attempt
// that has ended.
import type { ClaimRef } from '../store/request/journal.ts';
import type { Pass } from '../queue/gated-lanes.ts';

/** Tells the attempt why it should stop. */
export type StopAttempt = (reason: 'cancelled' | 'lost') => void;

export interface Heartbeat {
  /** Watches an attempt, and its pass, from a third of its lease on; the returned function ends it. */
  watch(claim: ClaimRef, stop: StopAttempt, pass?: Pass | null): () => void;
  close(): void;
}
