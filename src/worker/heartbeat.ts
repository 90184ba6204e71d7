// What keeps the leases of running attempts alive, and tells an attempt that it should stop.
// Must never extend a lease for an attempt that has ended.
import type { Pass } from '../queue/gated-lanes.ts';
import type { ClaimRef } from '../store/refs.ts';

/** Tells the attempt why it should stop. */
export type StopAttempt = (reason: 'cancelled' | 'lost') => void;

export interface Heartbeat {
  /** Watches an attempt, and its pass, from a third of its lease on; the returned function ends it. */
  watch(claim: ClaimRef, stop: StopAttempt, pass?: Pass | null): () => void;
  close(): void;
}
