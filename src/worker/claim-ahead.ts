// Work of this process' own submissions and runs: a slot is taken for it, and its claim is granted by the script that accepts it.
// Must never begin an attempt without a slot, nor leave alone what may have been claimed because no answer came.
import type { Semaphore } from '../bounds/semaphore.ts';
import type { AcceptedAhead, ClaimAhead } from '../journal/journal.ts';
import { asError } from '../lifecycle.ts';
import { envelopeIn, type JobData } from '../queue/job.ts';
import { ENDS_LATER, firstGrant, type HeldJob } from '../queue/lane-claims.ts';
import type { LocalPlace } from '../queue/local-roles.ts';
import { newShortId } from '../telemetry/identifier.ts';
import { isSerial, startOf } from './claim.ts';
import type { AttemptParts } from './claimed.ts';
import type { InHand } from './in-hand.ts';
import { persistently } from './persistently.ts';

export interface AheadParts {
  attempt: Pick<AttemptParts, 'registry' | 'breaker' | 'limits' | 'records' | 'running'>;
  /** Of the lanes in which this process alone decides how many attempts there are. */
  slots: ReadonlyMap<string, Semaphore>;
  canTake(lane: string): boolean;
  inHand: InHand;
  /** Makes the attempt with its slot, which it gives back, and enqueues what is to be looked at later. */
  make(job: JobData, lane: string, held: HeldJob): Promise<void>;
  onError(error: Error): void;
}

/** Places for what is about to be accepted; null: it has to be claimed after that. What has a place is in hand. */
export function createPlacesAhead(parts: AheadParts): (lane: string, job: JobData) => LocalPlace | null {
  const { registry, breaker, limits } = parts.attempt;
  return (lane, job) => {
    const envelope = envelopeIn(job);
    if (envelope === undefined || envelope.offloaded !== undefined) return null;
    const definition = registry.queued(envelope.directive.type);
    if (!definition || breaker.downForMs(lane) !== null || !parts.canTake(lane)) return null;
    const claim = { id: job.id, token: newShortId(), leaseMs: limits.leaseMs };
    const claimed = { ...claim, started: startOf(envelope, definition) };
    return parts.slots.get(lane)?.tryTake() ? placeFor(parts, { lane, job, claim: claimed }) : null;
  };
}

/** Its slot is taken. */
interface Place {
  lane: string;
  job: JobData;
  claim: ClaimAhead;
}

function placeFor(parts: AheadParts, place: Place): LocalPlace {
  const { promise, resolve } = Promise.withResolvers<AcceptedAhead | null>();
  parts.inHand.during(place.lane, () => attemptOnce(parts, place, promise)).catch(parts.onError);
  return {
    claim: place.claim,
    begin: resolve,
    release: () => resolve(null),
    async lookUp() {
      const ahead = await lookedUp(parts, place);
      resolve(ahead);
      return ahead !== null;
    },
  };
}

/** What is claimed for it. What was there before may be another worker's, with another trace, or in another lane: it goes the usual way. */
async function lookedUp(
  { attempt: { records, running }, onError }: AheadParts,
  { job: { request_id: requestId, id }, claim: { token } }: Place,
): Promise<AcceptedAhead | null> {
  try {
    return await persistently(() => records.journal.claimedAhead(requestId, id, token), running.givenUp);
  } catch (error) {
    onError(asError(error));
    return null;
  }
}

/** `accepted`: null = it is not claimed for this place. */
async function attemptOnce(
  parts: AheadParts,
  { lane, job, claim: { token } }: Place,
  accepted: Promise<AcceptedAhead | null>,
): Promise<void> {
  const askedAt = performance.now();
  const serial = isSerial(parts.attempt, lane);
  // Whoever awaits it hears of it.
  serial.catch(() => {});
  const ahead = await accepted;
  if (ahead === null) return parts.slots.get(lane)?.release();
  const reply = firstGrant({ at: ahead.at, deadlineAt: ahead.at + ahead.deadlineMs, owesStart: false });
  return parts.make(job, lane, { token, reply, askedAt, ...ENDS_LATER, serial });
}
