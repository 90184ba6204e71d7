// Work of this process' own submissions and runs: a slot is taken for it, and its claim is granted by the script that accepts it.
// Must never begin an attempt without a slot, nor leave alone what may have been claimed because no answer came.
import type { Semaphore } from '../bounds/semaphore.ts';
import { isToolLane } from '../catalog/route.ts';
import type { ScriptReply } from '../journal/scripts.ts';
import { envelopeIn, type JobData } from '../queue/job.ts';
import type { HeldJob } from '../queue/lane-claims.ts';
import type { AcceptedAhead, LocalPlace } from '../queue/local-roles.ts';
import { newShortId } from '../telemetry/identifier.ts';
import { startOf } from './claim.ts';
import type { AttemptParts } from './claimed.ts';
import type { InHand } from './in-hand.ts';

export interface AheadParts {
  attempt: Pick<AttemptParts, 'registry' | 'breaker' | 'limits' | 'records'>;
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
    if (!parts.slots.get(lane)?.tryTake()) return null;
    const token = newShortId();
    const accepted = Promise.withResolvers<Decision>();
    const work = attemptOnce(parts, { lane, job, token, accepted: accepted.promise });
    parts.inHand.during(lane, async () => work).catch(parts.onError);
    return {
      claim: { id: job.id, token, leaseMs: limits.leaseMs, started: startOf(envelope, definition) },
      begin: (ahead) => accepted.resolve(ahead ?? 'unknown'),
      release: () => accepted.resolve('refused'),
    };
  };
}

type Decision = AcceptedAhead | 'unknown' | 'refused';

interface Place {
  lane: string;
  job: JobData;
  token: string;
  accepted: Promise<Decision>;
}

/** Once it is known what became of its acceptance. */
async function attemptOnce(parts: AheadParts, { lane, job, token, accepted }: Place): Promise<void> {
  const askedAt = performance.now();
  const serial = isToolLane(lane) ? parts.attempt.records.serial.isDeclared(lane) : undefined;
  // Whoever awaits it hears of it.
  serial?.catch(() => {});
  const ahead = await accepted;
  if (ahead === 'refused') return parts.slots.get(lane)?.release();
  const reply = ahead === 'unknown' ? null : asGranted(ahead);
  const held: HeldJob = { token, reply, askedAt, end: undefined, slotPassed: () => false };
  return parts.make(job, lane, serial === undefined ? held : { ...held, serial });
}

/** As include-claim.lua answers for what nobody has claimed before. */
function asGranted({ at, deadlineMs }: AcceptedAhead): ScriptReply {
  const [now, deadline] = [String(at), String(at + deadlineMs)];
  return ['granted', '1', 0, 0, 0, deadline, now, '0', '', now, 0, '', 0, '', '', '', 0];
}
