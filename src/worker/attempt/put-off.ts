// A job whose attempt does not begin now: its claim is released, and the job returns to its lane. Never returns a
// directive that must end: one that was cancelled, or that a worker that died may have called.
import { isLater } from '../../store/format.ts';
import type { JobOutcome } from '../../queue/consume.ts';
import { envelopeIn, type JobData } from '../../queue/job.ts';
import type { HeldJob } from '../../queue/lane-take.ts';
import { claimedOf, type ToClaim } from './claim.ts';
import type { AttemptParts, Granted } from './claimed.ts';
import { durably } from '../record/durably.ts';
import { endCancelled } from './ended-unclaimed.ts';
import { endLost } from './lost-attempt.ts';

/** `lane`: that of `attemptDirective`. `at`: the next check, milliseconds since the epoch. */
export async function putOff(
  parts: AttemptParts,
  job: JobData,
  lane: string | undefined,
  held: HeldJob | null,
  at: number,
): Promise<JobOutcome> {
  const later: JobOutcome = { kind: 'later', at };
  const granted = await grantedWith(parts, job, held);
  if (held === null || granted === null) return later;
  const known = knownOf(parts, job, lane, held);
  if (granted.lost && known === null) return later;
  const ended =
    known && (await endLost(parts, { ...claimedOf(parts, known, granted, held.askedAt), serial: false }));
  if (ended) return ended;
  const claim = { requestId: job.request_id, id: job.id, fence: granted.fence };
  const pauseMs = Math.max(0, at - Date.now());
  const released = await durably(parts, () => parts.records.journal.release(claim, pauseMs));
  if (released !== 'cancelled' || known === null) return later;
  return endCancelled(parts, known, granted);
}

/** null: no claim came with the job. */
async function grantedWith(
  { records }: AttemptParts,
  { request_id: requestId }: JobData,
  held: HeldJob | null,
): Promise<Granted | null> {
  const taken = held?.verdict ?? null;
  const verdict = taken && (await records.journal.claimedWithJob(requestId, taken));
  return verdict?.kind === 'granted' ? verdict : null;
}

/** The facts of a directive whose body comes with its claim. null: this worker does not know the type. */
function knownOf(
  { registry }: AttemptParts,
  job: JobData,
  lane: string | undefined,
  held: HeldJob,
): ToClaim | null {
  const envelope = envelopeIn(job);
  if (!envelope || isLater(envelope)) return null;
  const definition = registry.queued(envelope.directive.type);
  if (!definition) return null;
  return { envelope, lane: lane ?? envelope.lane ?? '', definition, digest: job.digest, held, pass: null };
}
