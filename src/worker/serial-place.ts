// An attempt's place in a serial lane: taken before the call, given back when the attempt is recorded.
// Must never wait with the attempt in hand: who finds the place taken goes back to the lane, which pauses for a moment.
import type { JobOutcome } from '../queue/consume.ts';
import type { AttemptParts, Claimed } from './attempt/claimed.ts';
import { recordRelease } from './record/record.ts';
import { persistently } from './record/durably.ts';

/** How often the place in a lane is asked for, by one worker for all: the lane is paused in between. */
const ASK_EVERY_MS = 500;
/** Share of a lease that a silent holder is given after it: twice its heartbeat's period, and more. */
const GRACE_PER_LEASE = 0.5;

/** Makes the attempt when the lane's place is free; otherwise the directive waits in its lane, and no attempt is counted. */
export async function inPlace(
  parts: AttemptParts,
  claimed: Claimed,
  attempt: () => Promise<JobOutcome>,
): Promise<JobOutcome> {
  // @guard serial-place
  if (!claimed.serial) return attempt();
  if (!(await enter(parts, claimed))) return goBack(parts, claimed);
  try {
    return await attempt();
  } finally {
    // A place that is not given back is found to be free when somebody asks: the claim is over.
    await parts.records.serial.leave(claimed.lane, claimed.claim).catch(() => {});
  }
}

async function enter({ records, running, limits }: AttemptParts, claimed: Claimed): Promise<boolean> {
  const { serial } = records;
  const { leaseMs } = limits;
  const { lane, claim, granted } = claimed;
  const askedAt = performance.now();
  const entered = await persistently(
    () => serial.enter(lane, claim, granted.now + performance.now() - askedAt, leaseMs * GRACE_PER_LEASE),
    running.givenUp,
  );
  // Nothing extends the claim yet: after a standstill it may be another worker's.
  const isFresh = performance.now() - claimed.claimedAt < leaseMs;
  if (entered && !isFresh) await serial.leave(lane, claim).catch(() => {});
  return entered && isFresh;
}

async function goBack(parts: AttemptParts, claimed: Claimed): Promise<JobOutcome> {
  const made = { metadata: {}, seen: false };
  const released = await recordRelease(parts, claimed, ASK_EVERY_MS, made, { reason: 'concurrency' });
  await parts.lanes.pauseFor(claimed.lane, ASK_EVERY_MS).catch(() => {});
  return released;
}
