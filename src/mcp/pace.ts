/** Limits how fast a server is read: reading pauses while the server sends more than a certain rate unasked.
 *  It must never slow down the answers to calls. */

export interface Pace {
  /** A request was sent: its answer will come. */
  requested(): void;
  /** Messages have arrived. */
  received(messages: number): void;
  /** How long to pause reading, milliseconds. */
  restMs(): number;
}

export interface Rate {
  readonly perSecond: number;
  /** How many may come at once. */
  readonly burst: number;
}

const MESSAGES: Rate = { perSecond: 500, burst: 2_000 };
/** For opening event streams: a server that ends each one at once, and asks for no pause, is limited to this. */
export const OPENINGS: Rate = { perSecond: 10, burst: 64 };
/** A request may bring an answer and a few progress notes. */
const PER_REQUEST = 4;

export function createPace(
  now: () => number = performance.now.bind(performance),
  { perSecond, burst }: Rate = MESSAGES,
): Pace {
  let allowed = burst;
  let countedAt = now();
  const refill = (): void => {
    const at = now();
    allowed = Math.min(Math.max(burst, allowed), allowed + ((at - countedAt) / 1_000) * perSecond);
    countedAt = at;
  };
  return {
    requested() {
      allowed = Math.min(allowed + PER_REQUEST, 2 * burst);
    },
    received(messages) {
      refill();
      allowed -= messages;
    },
    restMs() {
      refill();
      return allowed >= 0 ? 0 : Math.ceil((-allowed / perSecond) * 1_000);
    },
  };
}
