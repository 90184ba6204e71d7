// The free slots of one lane that this process offers in Redis while nothing waits there: who accepts something hands it over.
// Must never offer a slot that is not taken for it, nor keep one taken that nobody can use any more.
import type { RunScript, ScriptReply } from '../journal/scripts.ts';
import { settledWithin } from '../lifecycle.ts';
import type { Handed, HandOver } from './hand-over.ts';

export interface OffersOptions {
  handOver: HandOver;
  /** Of the lane's keys. */
  base: string;
  run: RunScript;
  /** Of the claim that comes with a job; 0 = the lane is that of runs. */
  leaseMs: number;
  /** Of the lock of a job. */
  lockMs: number;
  /** The worker reports the first attempt itself. */
  owesStart: boolean;
}

/** Slots that are offered where a take finds nothing. */
export interface PreparedOffers {
  /** As include-offers.lua reads it. */
  readonly text: string;
  /** Call in any case. `reply`: of the take; undefined: none came. */
  settle(reply: ScriptReply | undefined): void;
}

export interface LaneOffers {
  /** `areAll`: with those that stand, from time to time. null: what is handed over would not be heard. */
  prepare(count: number, areAll: boolean): PreparedOffers | null;
  /** Whether the slots of a take are kept for offers, since it found nothing; once that is settled. */
  keep(reply: ScriptReply): boolean;
  /** Whether an offer stands, or may soon: its slot is for what is handed over, which is asked for before anything else. */
  any(): boolean;
  /** Resolves when it is known which offers stand: one may be used before its maker hears that it does. */
  settled(): Promise<unknown>;
  /** Whether a slot is taken for what was handed over. */
  use(handed: Handed): boolean;
  /** The slot of an offer, for what is taken now. */
  takeOneBack(): Promise<boolean>;
  /** Until nothing can be handed over any more. `release`: for each slot of an offer that nobody used. */
  withdraw(release: () => void): Promise<void>;
  /** Where jobs are handed over. Default: not to the lane's consumer. */
  join?: HandOver['join'];
  readonly instantOf: HandOver['instantOf'];
  readonly process: string;
}

/** Of one lane and process: further slots take jobs. */
const MOST_STANDING = 64;

/** BullMQ's worker looks at an empty lane every 5 s. */
const SAID_AGAIN_MS = 4_000;

/** What was handed over as its offer was taken back is heard by then. */
const ON_ITS_WAY_MS = 250;

/** Whether slots were offered, since there was nothing to take. */
function isOffered(reply: ScriptReply): boolean {
  return reply[0] === 'none' && reply.length > 2;
}

export function createLaneOffers(options: OffersOptions): LaneOffers {
  const { handOver, base, run } = options;
  const { standing, ...making } = createMaking(options);
  const watched = watchedSet(standing, ON_ITS_WAY_MS);

  function use({ slot }: Handed): boolean {
    const isTaken = standing.delete(slot);
    watched.changed();
    return isTaken;
  }

  /** Takes offers back. Returns those whose slots are free for something else: the others are used already. */
  async function takeBack(slots: readonly string[]): Promise<string[]> {
    if (slots.length === 0) return [];
    const names = slots.map((slot) => nameOf(handOver, slot));
    const removed = new Set((await run('offers-withdraw', [base], names)).map(String));
    return slots.filter((slot) => removed.has(nameOf(handOver, slot)) && standing.delete(slot));
  }

  /** What does not stand in Redis any more is used, and its job a moment away, or was lost there. */
  async function takeOneBack(): Promise<boolean> {
    await making.settled();
    for (const slot of standing) {
      if ((await takeBack([slot])).length > 0) return true;
      await watched.untilNone([slot]);
      if (standing.delete(slot)) return true;
    }
    return false;
  }

  async function withdraw(release: () => void): Promise<void> {
    await making.settled();
    const free = await takeBack([...standing]).catch(() => []);
    free.forEach(release);
    if (standing.size > 0) await watched.untilNone([...standing]);
    for (const slot of standing) if (standing.delete(slot)) release();
  }

  const { join, instantOf, process } = handOver;
  return { ...making, use, takeOneBack, withdraw, join, instantOf, process };
}

function nameOf({ process }: Pick<HandOver, 'process'>, slot: string): string {
  return `${process} ${slot}`;
}

/** The offers that are made with takes. */
function createMaking({ handOver, leaseMs, lockMs, owesStart }: OffersOptions) {
  const words = `${leaseMs} ${lockMs} ${owesStart ? 1 : 0}`;
  /** Offers whose slots are taken for them. */
  const standing = new Set<string>();
  /** Of takes that are under way. */
  const preparing = new Set<Promise<void>>();
  const kept = new WeakSet<ScriptReply>();
  let made = 0;
  let saidAt = -Infinity;

  /** Redis may have forgotten those that stand, and takes no old ones for granted. */
  function saidAgain(now: number): string[] {
    if (now - saidAt < SAID_AGAIN_MS) return [];
    saidAt = now;
    return [...standing];
  }

  function prepare(count: number, areAll: boolean): PreparedOffers | null {
    if (!handOver.isHeard()) return null;
    const askedAt = performance.now();
    const before = areAll ? saidAgain(askedAt) : [];
    const length = standing.size + count > MOST_STANDING ? 0 : count;
    if (before.length + length === 0) return null;
    const slots = Array.from({ length }, () => (made += 1).toString(36));
    const { promise, resolve } = Promise.withResolvers<void>();
    preparing.add(promise);
    return {
      text: [words, ...[...before, ...slots].map((slot) => nameOf(handOver, slot))].join('\n'),
      settle(reply) {
        if (reply !== undefined && isOffered(reply)) {
          handOver.noteClock(Number(reply[2]), askedAt);
          for (const slot of slots) standing.add(slot);
          if (slots.length > 0) kept.add(reply);
        }
        preparing.delete(promise);
        resolve();
      },
    };
  }

  return {
    standing,
    prepare,
    keep: (reply: ScriptReply): boolean => kept.has(reply),
    any: (): boolean => standing.size + preparing.size > 0,
    settled: async (): Promise<unknown> => Promise.all(preparing),
  };
}

/** Of what needs no slot of the lane: one offer that is not used up. */
export function createStandingOffer({ handOver, base, run, leaseMs, lockMs }: OffersOptions): LaneOffers {
  const name = nameOf(handOver, '0');
  let saidAt = -Infinity;
  return {
    prepare() {
      const askedAt = performance.now();
      if (!handOver.isHeard() || askedAt - saidAt < SAID_AGAIN_MS) return null;
      return {
        text: `${leaseMs} ${lockMs} 0\n${name}`,
        settle(reply) {
          if (reply === undefined || !isOffered(reply)) return;
          saidAt = askedAt;
          handOver.noteClock(Number(reply[2]), askedAt);
        },
      };
    },
    keep: () => false,
    any: () => false,
    settled: async () => {},
    use: () => false,
    takeOneBack: async () => false,
    async withdraw() {
      saidAt = -Infinity;
      await run('offers-withdraw', [base], [name]).catch(() => []);
    },
    instantOf: handOver.instantOf,
    process: handOver.process,
  };
}

/** `members`: somebody else changes it, and says so. */
function watchedSet(members: ReadonlySet<string>, longestMs: number) {
  const watching = new Set<() => void>();
  return {
    changed(): void {
      for (const look of watching) look();
    },
    /** Until none of these is a member, or the time has passed. */
    async untilNone(these: readonly string[]): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => {
        if (!these.some((each) => members.has(each))) resolve();
      };
      watching.add(look);
      look();
      await settledWithin(promise, longestMs);
      watching.delete(look);
    },
  };
}
