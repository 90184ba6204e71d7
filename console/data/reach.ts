/** Whether the service answers, as the last call knows, and since when it does not.
 *  It must never ask by itself. */
import { useSyncExternalStore } from 'react';

export interface Reach {
  readonly answers: boolean;
  /** Instant of the last answer, milliseconds since the epoch; null: there was none. */
  readonly answeredAt: number | null;
}

let reach: Reach = { answers: true, answeredAt: null };
const listeners = new Set<() => void>();

export function noteReach(answers: boolean, now: number = Date.now()): void {
  const wasOther = reach.answers !== answers;
  reach = { answers, answeredAt: answers ? now : reach.answeredAt };
  // The instant of an answer alone is nothing to draw anew.
  if (!wasOther) return;
  for (const listener of listeners) listener();
}

/** Calls `back` whenever the service answers again; call the answer to stop. */
export function whenBack(back: () => void): () => void {
  return subscribe(() => {
    if (reach.answers) back();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let drawn = reach;

/** The same value until `answers` changes. */
function snapshot(): Reach {
  if (drawn.answers !== reach.answers) drawn = reach;
  return drawn;
}

export function useReach(): Reach {
  return useSyncExternalStore(subscribe, snapshot);
}
