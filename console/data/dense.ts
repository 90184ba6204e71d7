/** Signals in their order, each once: what has come already is dropped, and a gap is noticed.
 *  Never passes on a signal whose predecessor is missing. */
import type { Signal } from '../../src/contract/signal/signal.ts';

export interface Take {
  (signals: readonly Signal[]): void;
  last(): number;
}

/** A repeat is dropped; a gap throws, and the pages are read again from the last good one. */
export function denseTaker(after: number, hand: (fresh: readonly Signal[]) => void): Take {
  let last = after;
  const take = (signals: readonly Signal[]): void => {
    const fresh = signals.filter(({ sequence }) => sequence > last);
    const gap = fresh.find(({ sequence }, place) => sequence !== last + place + 1);
    if (gap !== undefined) throw new Error(`the log has a gap before ${gap.sequence}`);
    if (fresh.length === 0) return;
    last += fresh.length;
    hand(fresh);
  };
  return Object.assign(take, { last: () => last });
}
