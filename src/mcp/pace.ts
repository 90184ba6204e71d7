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

export interface Rate {
  readonly perSecond: number;
  /** How many may come at once. */
  readonly burst: number;
}

const MESSAGES: Rate = { perSecond: 500, burst: 2_000 };
/** Event streams that are opened: whoever ends each at once, and asks for no pause, is not followed at that speed. */
export const OPENINGS: Rate = { perSecond: 10, burst: 64 };
/** A call may be answered, and report a little on the way. */
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
    asked() {
      allowed = Math.min(allowed + PER_REQUEST, 2 * burst);
    },
    heard(messages) {
      refill();
      allowed -= messages;
    },
    restMs() {
      refill();
      return allowed >= 0 ? 0 : Math.ceil((-allowed / perSecond) * 1_000);
    },
  };
}
