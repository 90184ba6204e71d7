/** How fast a server is listened to: what it sends unasked may come at a certain rate, and is left unread above it.
 *  It must never slow down the answers to calls that are made. */

export interface Pace {
  /** A request leaves: it will be answered. */
  asked(): void;
  /** Messages that came. */
  heard(messages: number): void;
  /** How long not to read on, milliseconds. */
  restMs(): number;
}

/** Messages a second, and how many may come at once. */
const PER_SECOND = 500;
const BURST = 2_000;
/** A call may be answered, and report a little on the way. */
const PER_REQUEST = 4;

export function createPace(now: () => number = performance.now.bind(performance)): Pace {
  let allowed = BURST;
  let countedAt = now();
  const refill = (): void => {
    const at = now();
    allowed = Math.min(Math.max(BURST, allowed), allowed + ((at - countedAt) / 1_000) * PER_SECOND);
    countedAt = at;
  };
  return {
    asked() {
      allowed = Math.min(allowed + PER_REQUEST, 2 * BURST);
    },
    heard(messages) {
      refill();
      allowed -= messages;
    },
    restMs() {
      refill();
      return allowed >= 0 ? 0 : Math.ceil((-allowed / PER_SECOND) * 1_000);
    },
  };
}
