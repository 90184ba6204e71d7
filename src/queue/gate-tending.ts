// One check of the gate of a lane: released directives get their jobs, also those of a process that died; ended ones
// are removed. Never enqueues a waiting directive, nor leaves an ended one in the gate.
import type { LetOut, Pumped } from '../store/limits/gate.ts';
import type { Journal } from '../store/request/journal.ts';
import { type GatedLanes, isSame } from './gated-lanes.ts';
import { jobInJournal } from './job.ts';
import type { Lanes } from './lanes.ts';

export interface GateTendingParts {
  gated: Pick<GatedLanes, 'gate' | 'roomIn' | 'note' | 'follow' | 'remove'>;
  lanes: Pick<Lanes, 'requeue'>;
  journal: Pick<Journal, 'directive' | 'envelope'>;
}

/** Releases the due directives from the gate of a lane. */
export type TendGate = (lane: string) => Promise<Pick<Pumped, 'size' | 'dueMs'>>;

/** Maximum number of rounds at one gate before other gates follow. */
const MOST_ROUNDS = 20;

export function createGateTending({ gated, lanes, journal }: GateTendingParts): TendGate {
  /** Those whose job may lie where a worker died, or that have ended meanwhile. */
  async function lookAfter(lane: string, ref: LetOut, isOut: boolean): Promise<void> {
    const job = await jobInJournal(journal, ref.requestId, ref.id);
    if (job === null) return gated.remove(lane, ref);
    if (isOut) await lanes.requeue(lane, job);
  }

  async function tend(lane: string, { lapsed, unbegun, released, dueMs }: Pumped): Promise<void> {
    const isLapsed = (each: LetOut): boolean => lapsed.some((other) => isSame(each, other));
    const anew = released.filter((each) => !isLapsed(each));
    await gated.follow(lane, { released: anew, dueMs });
    const isOut = (each: LetOut): boolean => released.some((other) => isSame(each, other));
    await Promise.all([
      ...lapsed.map((each) => lookAfter(lane, each, isOut(each))),
      ...unbegun.map((each) => lookAfter(lane, each, true)),
    ]);
  }

  /** Resolves to how many are in the gate, and when something is due there. */
  async function pump(lane: string): Promise<Pick<Pumped, 'size' | 'dueMs'>> {
    for (let round = 1; ; round += 1) {
      const pumped = await gated.gate.pump(lane, await gated.roomIn(lane));
      await tend(lane, pumped);
      if (pumped.size > 0) gated.note(lane);
      else await gated.gate.drop(lane);
      if (!pumped.more || round === MOST_ROUNDS) return pumped;
    }
  }

  return pump;
}
