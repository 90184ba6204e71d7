// Work of this process' own submissions and runs: a slot is taken for it, and its claim is granted by the script that accepts it.
// Must never begin an attempt without a slot, nor leave alone what may have been claimed because no answer came.
import { isToolLane } from '../catalog/route.ts';
import type { ScriptReply } from '../journal/scripts.ts';
import { isLater } from '../journal/format.ts';
import { envelopeIn, type JobData } from '../queue/job.ts';
import type { HeldJob } from '../queue/lane-claims.ts';
import type { AcceptedAhead, LocalPlace } from '../queue/local-roles.ts';
import { newShortId } from '../telemetry/identifier.ts';
import { startOf } from './claim.ts';
import type { AttemptParts } from './claimed.ts';

export interface AheadParts {
  attempt: Pick<AttemptParts, 'registry' | 'breaker' | 'limits' | 'records'>;
  /** With the slot of the lane that was taken for it, which it gives back. Counted as in hand from now on; never rejects. */
  work(lane: string, attempt: () => Promise<void>): void;
  /** Makes the attempt, and enqueues what is to be looked at later. */
  make(job: JobData, lane: string, held: HeldJob): Promise<void>;
  giveBack(lane: string): void;
}

/** For a slot of the lane that the caller has taken. null: it has to be claimed after its acceptance; the slot is still the caller's. */
export function placeAhead(parts: AheadParts, lane: string, job: JobData): LocalPlace | null {
  const { registry, breaker, limits, records } = parts.attempt;
  const envelope = envelopeIn(job);
  if (envelope === undefined || isLater(envelope) || envelope.offloaded !== undefined) return null;
  const definition = registry.queued(envelope.directive.type);
  if (!definition || breaker.downForMs(lane) !== null) return null;
  const { leaseMs } = limits;
  const token = newShortId();
  const askedAt = performance.now();
  const serial = isToolLane(lane) ? records.serial.isDeclared(lane) : undefined;
  // Whoever awaits it hears of it.
  serial?.catch(() => {});
  const { promise, resolve } = Promise.withResolvers<AcceptedAhead | 'unknown' | null>();
  parts.work(lane, async () => {
    const accepted = await promise;
    if (accepted === null) return parts.giveBack(lane);
    const reply = accepted === 'unknown' ? null : asGranted(accepted);
    const held: HeldJob = { token, reply, askedAt, end: undefined, slotPassed: () => false };
    return parts.make(job, lane, serial === undefined ? held : { ...held, serial });
  });
  return {
    claim: { id: job.id, token, leaseMs, started: startOf(envelope, definition) },
    begin: (accepted) => resolve(accepted ?? 'unknown'),
    release: () => resolve(null),
  };
}

/** As include-claim.lua answers for what nobody has claimed before. */
function asGranted({ at, deadlineMs }: AcceptedAhead): ScriptReply {
  const [now, deadline] = [String(at), String(at + deadlineMs)];
  return ['granted', '1', 0, 0, 0, deadline, now, '0', '', now, 0, '', 0, '', '', '', 0];
}
