// How long a call that concerns many requests chooses, and how long it acts.
// Must never go on once its caller has gone.

/** A call ends after this time with what it has done; proxies cut longer ones. */
const LONGEST_MS = 20_000;

export interface BulkClocks {
  /** It has chosen long enough: what is left of the time is for acting, so that each repeat comes further. */
  readonly isLate: () => boolean;
  readonly isOver: () => boolean;
}

export function bulkClocks(signal: AbortSignal | undefined): BulkClocks {
  const begun = performance.now();
  const isPast = (ms: number): boolean => signal?.aborted === true || performance.now() - begun > ms;
  return { isLate: () => isPast(LONGEST_MS / 2), isOver: () => isPast(LONGEST_MS) };
}
