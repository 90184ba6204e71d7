// The runs of which this process has taken the last turn, as it left them: the next turn need not read them.
// Must never hold more than its bounds: what is not held is read from Redis.
import type { RunStatus } from '../contract/run.ts';

/** Documents are kept as text, so that no turn can change the next one's. */
export interface Held {
  version: number;
  status: RunStatus;
  traceparent: string;
  agent: string;
  spec: string;
  document: string;
  startedAt: number;
  /** When it was written, by the clock of Redis, and by the process' monotonic clock at the latest; milliseconds. */
  writtenAt: number;
  knownAt: number;
}

const MOST_HELD = 512;
/** Characters; a larger document is read from Redis for each turn. */
const LARGEST_HELD = 262_144;

export function createHeldRuns() {
  const held = new Map<string, Held>();
  /** Of those that are held, whose turns are computed for so long that no end waits for one. */
  const slow = new Set<string>();

  function remove(requestId: string): void {
    held.delete(requestId);
    slow.delete(requestId);
  }

  return {
    get: (requestId: string): Held | undefined => held.get(requestId),
    delete: remove,
    set(requestId: string, run: Held): void {
      // The newest is the last.
      held.delete(requestId);
      if (run.document.length + run.spec.length > LARGEST_HELD) return remove(requestId);
      held.set(requestId, run);
      if (held.size > MOST_HELD) remove(held.keys().next().value ?? '');
    },
    /** Whether an end may wait for the turn that reads it. */
    holds: (requestId: string): boolean => held.has(requestId) && !slow.has(requestId),
    noteSlow(requestId: string): void {
      if (held.has(requestId)) slow.add(requestId);
    },
  };
}
