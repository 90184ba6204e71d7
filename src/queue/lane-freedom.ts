// Whether a lane may be passed by: nobody has paused or limited it, as it was seen a second ago at the most.
// Must never call a lane free that nobody could look at.

/** As old as what is known of a lane may be. */
const LOOK_MS = 1_000;
/** Lanes come and go with configurations; what is known of so many is forgotten at once. */
const MOST_KNOWN = 1_000;

export type LaneFreedom = (lane: string) => Promise<boolean>;

/** `look`: asks Redis. `now`: milliseconds on a clock that only goes forward. */
export function createLaneFreedom(look: LaneFreedom, now = (): number => performance.now()): LaneFreedom {
  const seen = new Map<string, { at: number; isFree: Promise<boolean> }>();
  return (lane) => {
    const known = seen.get(lane);
    const at = now();
    if (known !== undefined && at - known.at <= LOOK_MS) return known.isFree;
    const isFree = look(lane).catch(() => false);
    if (seen.size >= MOST_KNOWN) seen.clear();
    seen.set(lane, { at, isFree });
    return isFree;
  };
}
