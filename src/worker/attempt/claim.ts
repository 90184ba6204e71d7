// The claim of a directive, asked for or come with its job, and the report of its first attempt.
// Must never take a claim that may have run out for one that holds.
import { isToolLane } from '../../store/catalog/route.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { Envelope } from '../../store/request/envelope.ts';
import type { ClaimVerdict } from '../../store/request/verdicts.ts';
import type { HeldJob } from '../../queue/lane-take.ts';
import { newClaimToken } from '../../platform/telemetry/identifier.ts';
import { attemptContext, attemptTrace } from './attempt-spans.ts';
import type { AttemptParts, Claimed, Granted } from './claimed.ts';
import { durably, persistently } from '../record/durably.ts';
import type { ExecutionContext } from '../executors/definition.ts';
import type { AttemptHandle } from './running-attempts.ts';
import { candidateOf } from './model-candidate.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { draftSignal } from '../../store/log/signal-draft.ts';
import { directiveMetadata } from '../../store/log/terminal-signal.ts';

/** Share of a lease after which a claim that nothing extends is asked for again: the heartbeat's first beat comes at a third, too. */
const FRESH_PER_LEASE = 1 / 3;

/** The known facts of a directive before it is claimed. */
export type ToClaim = Pick<Claimed, 'envelope' | 'lane' | 'definition' | 'digest' | 'held' | 'pass'>;

/** `claimedAt`: when it was asked for, by the process' monotonic clock, milliseconds. */
interface Asked {
  verdict: ClaimVerdict;
  serial: boolean;
  claimedAt: number;
}

/** The claim that came with the job, unless it may have run out since; else one that is asked for now. */
export async function claim(parts: AttemptParts, taken: ToClaim): Promise<Asked> {
  const { held, envelope } = taken;
  const ahead = await claimAhead(parts, envelope.directive.request_id, held);
  if (ahead !== null) return ahead;
  const claimedAt = performance.now();
  const [verdict, serial] = await askForClaim(parts, taken, held?.token ?? newClaimToken());
  return { verdict, serial, claimedAt };
}

/** null: none came, or this process stood still since. */
async function claimAhead(
  { records, limits }: AttemptParts,
  requestId: string,
  held: HeldJob | null,
): Promise<Asked | null> {
  const taken = held?.verdict ?? null;
  if (held === null || taken === null) return null;
  const { askedAt } = held;
  if (!isFresh(askedAt, limits.leaseMs)) return null;
  const verdict = await records.journal.claimedWithJob(requestId, taken);
  return { verdict, serial: false, claimedAt: askedAt };
}

function isFresh(askedAt: number, leaseMs: number): boolean {
  return performance.now() - askedAt <= leaseMs * FRESH_PER_LEASE;
}

async function askForClaim(
  parts: AttemptParts,
  { envelope, lane, definition, digest }: ToClaim,
  token: string,
): Promise<[ClaimVerdict, serial: boolean]> {
  const { directive } = envelope;
  const { request_id: requestId, id } = directive;
  const started = startOf(envelope, definition);
  const { leaseMs } = parts.limits;
  const request = { requestId, id, digest, lane, token, leaseMs, ...(started ? { started } : {}) };
  return durably(parts, async () => {
    const [serial, verdict] = await Promise.all([
      isSerial(parts, lane),
      parts.records.journal.claim(request),
    ]);
    return [verdict, serial];
  });
}

/** Whether the calls of the lane are made one after the other for all callers: only a server's can be. */
async function isSerial({ records }: AttemptParts, lane: string): Promise<boolean> {
  return isToolLane(lane) && records.serial.isDeclared(lane);
}

/** The signal of the first attempt; null: none. */
function startOf(
  { directive, traceparent }: Envelope,
  definition: Pick<Claimed['definition'], 'started'>,
): SignalDraft | null {
  const data = definition.started(directive);
  return data && startedSignal(directive, data, traceparent);
}

/**
 * Reports the start of a call of a tool whose claim came with its job, before it is sent: it may have been cancelled since. The lease
 * begins anew, and the answer is asked for again until it is fresh. null: the claim was taken over, or has run out, or the deadline has
 * passed: the sweeper ends it. `cancelled`: after it was claimed.
 */
export async function begun(parts: AttemptParts, claimed: Claimed): Promise<Claimed | 'cancelled' | null> {
  const { claim: ref, granted, envelope, definition, held, lane } = claimed;
  if (!granted.owesStart && (held === null || !isToolLane(lane))) return claimed;
  const { leaseMs } = parts.limits;
  const signal = startOf(envelope, definition);
  for (;;) {
    let claimedAt = 0;
    const now = await durably(parts, () => {
      claimedAt = performance.now();
      return parts.records.journal.reportStart(ref, granted, leaseMs, signal, !granted.owesStart);
    });
    if (now === null || now === 'cancelled') return now;
    if (isFresh(claimedAt, leaseMs)) return { ...claimed, claimedAt, granted: { ...granted, now } };
    // Redis is slower than a lease allows: the sweeper ends it.
    if (now >= granted.deadlineAt) return null;
  }
}

/**
 * The last check before a call is sent: the claim is asked for, and must be fresh as the call is written. `before`: an
 * earlier check.
 */
export function whileClaimed(
  { records, limits, running }: AttemptParts,
  { claim: ref }: Pick<Claimed, 'claim'>,
  { signal, stop }: Pick<AttemptHandle, 'signal' | 'stop'>,
  before: ExecutionContext['mayBegin'],
): NonNullable<ExecutionContext['mayBegin']> {
  return async () => {
    const held = before === undefined ? () => true : await before();
    if (held === null) return null;
    let [askedAt, askedAtWall] = [0, 0];
    const found = await persistently(() => {
      [askedAt, askedAtWall] = [performance.now(), Date.now()];
      return records.journal.extend(ref, limits.leaseMs);
    }, running.givenUp);
    if (found === 'lost') stop('lost');
    if (found !== 'extended') return null;
    return () => {
      const isWithin =
        isFresh(askedAt, limits.leaseMs) && Date.now() - askedAtWall <= limits.leaseMs * FRESH_PER_LEASE;
      if (!isWithin) stop('lapsed');
      return held() && !signal.aborted;
    };
  };
}

export function claimedOf(
  { spans }: AttemptParts,
  taken: ToClaim,
  granted: Granted,
  claimedAt: number,
): Omit<Claimed, 'serial'> {
  const { directive, traceparent } = taken.envelope;
  const attempt = granted.fence - granted.released;
  const { request_id: requestId, id } = directive;
  const begunAt = spans.now() - (performance.now() - claimedAt);
  const trace = attemptTrace(spans, taken.envelope, granted, begunAt);
  const context = attemptContext(spans, trace, directive, traceparent);
  const origin = { requestId, causationId: id, traceparent: context, attempt };
  const claim = { requestId, id, fence: granted.fence };
  return { ...taken, granted, candidate: candidateOf(granted), attempt, origin, claim, trace, claimedAt };
}

/** `traceparent`: of the envelope. */
function startedSignal(directive: Directive, data: SignalDraft['data'], traceparent: string): SignalDraft {
  const { request_id: requestId, id: causationId } = directive;
  const withMetadata = { ...data, metadata: directiveMetadata(directive) } as never;
  return draftSignal('ai.tool.started', withMetadata, { requestId, causationId, traceparent, attempt: 1 });
}
