// The idle slots of one lane that this process announces in Redis while the lane is empty: an accepting process
// dispatches to them. A hint only: a job beyond the idle slots is returned.
import type { RunScript } from '../store/scripts.ts';
import type { Handed, HandOver } from './hand-over.ts';
import type { Found } from './lane-take.ts';

export interface Offering {
  /** The announcements of this process. */
  handOver: HandOver;
  /** Lease of the claim that comes with a job, milliseconds. */
  leaseMs: number;
  /** The worker reports the first attempt itself. */
  owesStart: boolean;
  /** The names of all keys of requests begin with it. */
  keyPrefix: string;
}

interface OffersOptions extends Offering {
  /** Base of the lane's keys. */
  base: string;
  run: RunScript;
  /** Duration of the lock of a job. */
  lockMs: number;
}

/** Slots that are announced where a dequeue finds no job. */
export interface PreparedOffers {
  /** The text that `include-offers.lua` reads. */
  readonly text: string;
  /** Call in any case. `found`: what the take found; undefined: no answer came. */
  settle(found: Found | undefined): void;
}

export interface LaneOffers {
  /**
   * `slots`: those of a dequeue, which releases them where it finds no job. `areAll`: with the current announcements,
   * at intervals. null: none can be made, or a dispatched job would not arrive.
   */
  prepare(slots: number, areAll: boolean): PreparedOffers | null;
  /** A dispatched job has arrived. */
  used(handed: Handed): void;
  /** Takes them all back. */
  withdraw(): Promise<void>;
  readonly instantOf: HandOver['instantOf'];
  readonly process: string;
}

/** With one script. */
const MOST_MADE = 16;
/** Maximum number of announced slots of one lane and process: further slots dequeue jobs. */
const MOST_STANDING = 64;

/** Interval of repeated announcements: the loop of a lane checks an empty lane every 5 s. */
const SAID_AGAIN_MS = 4_000;

function nameOf({ process }: Pick<HandOver, 'process'>, slot: string): string {
  return `${process} ${slot}`;
}

/** `free`: slots that nothing has or waits for. */
export function createLaneOffers(options: OffersOptions, free: () => number): LaneOffers {
  const { handOver, base, run, leaseMs, lockMs, owesStart } = options;
  const words = `${leaseMs} ${lockMs} ${owesStart ? 1 : 0}`;
  const standing = new Set<string>();
  /** Announced slots of dequeues that are in flight. */
  let coming = 0;
  let made = 0;
  let saidAt = -Infinity;

  /** Redis may have forgotten those that stand, and takes no old ones for granted. */
  function saidAgain(now: number): string[] {
    if (now - saidAt < SAID_AGAIN_MS) return [];
    saidAt = now;
    // @guard offer-again +1
    return [...standing];
  }

  /** None where the take has no slot: the lane may not be served now. */
  function newOffers(slots: number): string[] {
    const known = standing.size + coming;
    const room = slots === 0 ? 0 : Math.min(free() + slots - known, MOST_STANDING - known, MOST_MADE);
    const length = Math.max(0, room);
    return Array.from({ length }, () => (made += 1).toString(36));
  }

  function prepare(slots: number, areAll: boolean): PreparedOffers | null {
    if (!handOver.isHeard()) return null;
    const askedAt = performance.now();
    const before = areAll ? saidAgain(askedAt) : [];
    const offers = newOffers(slots);
    if (before.length + offers.length === 0) return null;
    coming += offers.length;
    return {
      text: [words, ...[...before, ...offers].map((slot) => nameOf(handOver, slot))].join('\n'),
      settle(found) {
        coming -= offers.length;
        if (found?.kind !== 'none' || found.offeredAt === null) return trim();
        handOver.noteClock(found.offeredAt, askedAt);
        for (const slot of offers) standing.add(slot);
      },
    };
  }

  /** Withdraws announcements beyond the number of idle slots. */
  function trim(): void {
    const excess = standing.size - free();
    if (excess > 0) takeBack([...standing].slice(0, excess)).catch(() => {});
  }

  async function takeBack(slots: readonly string[]): Promise<void> {
    for (const slot of slots) standing.delete(slot);
    const names = slots.map((slot) => nameOf(handOver, slot));
    if (names.length > 0) await run('offers-withdraw', [base], names);
  }

  const { instantOf, process } = handOver;
  return {
    prepare,
    used: ({ slot }) => void standing.delete(slot),
    withdraw: async () => takeBack([...standing]).catch(() => {}),
    instantOf,
    process,
  };
}
