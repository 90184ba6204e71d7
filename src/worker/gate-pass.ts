// An attempt's pass through the gate of its lane: held before the claim, given back when the attempt is recorded.
// Must never let a call begin on a pass that may have lapsed, nor keep one while nothing runs.
import type { Ticket } from '../contract/directive/flow.ts';
import type { ExecutionContext } from './executors/definition.ts';
import { withPriority } from '../queue/flow/ticket.ts';
import type { GateRef } from '../store/limits/gate.ts';
import { dueFrom } from '../store/request/records.ts';
import type { JobOutcome } from '../queue/consume.ts';
import type { Pass } from '../queue/gated-lanes.ts';
import type { JobData } from '../queue/job.ts';
import { newIdentifier } from '../platform/telemetry/identifier.ts';
import { type AttemptParts, type Claimed, DONE } from './attempt/claimed.ts';
import type { AttemptHandle } from './attempt/running-attempts.ts';
import { persistently } from './record/durably.ts';

/** Share of a lease after which a pass that nothing has extended is asked for again before a call. */
const FRESH_PER_LEASE = 1 / 3;
/**
 * Share of a lease after which a call is not written any more, though it was checked in time: a process that wakes late
 * does not check again.
 */
const WRITTEN_PER_LEASE = 2 / 3;

/** A pass, and when it was last asked for: by the process' monotonic clock and by that of the machine, milliseconds. */
export interface HeldPass extends Pass {
  readonly heldAt: number;
  readonly heldAtWall: number;
}

type GateParts = Pick<AttemptParts, 'gated' | 'limits' | 'records' | 'running'>;

/** Makes the attempt with a pass; without one the directive waits in the gate, which enqueues it again. */
export async function throughGate(
  parts: GateParts,
  { job, lane, ticket }: { job: JobData; lane: string; ticket: Ticket },
  attempt: (pass: HeldPass | null) => Promise<JobOutcome>,
): Promise<JobOutcome> {
  const { gated, limits, records, running } = parts;
  const ref = { requestId: job.request_id, id: job.id };
  const pass: Pass = { lane, token: newIdentifier() };
  const { answer, ...asked } = await askedAt(parts, () => gated.hold(pass, ref, limits.leaseMs));
  // @guard flow-hold
  if (answer === 'held') return leaveAfter(parts, pass, ref, await attempt({ ...pass, ...asked }));
  if (answer !== 'unknown') return DONE;
  const record = await persistently(() => records.journal.directive(ref.requestId, ref.id), running.givenUp);
  // Nothing of it is called any more: it needs no turn.
  if (record === null || record.terminal !== null) return attempt(null);
  // Whoever accepted it died before it entered.
  const entry = { ticket: withPriority(ticket, record.priority), arrivedAt: dueFrom(record) };
  const isOut = await persistently(() => gated.enter(lane, job, entry), running.givenUp);
  return isOut ? { kind: 'later', at: Date.now() } : DONE;
}

/**
 * Returns the pass of a directive that was released from the gate and does not begin now: it holds nothing until it is
 * due again. `lane`: that of its gate.
 */
export async function passedBack(
  parts: GateParts,
  { request_id: requestId, id }: JobData,
  lane: string,
  outcome: JobOutcome,
): Promise<JobOutcome> {
  if (outcome.kind !== 'later') return outcome;
  return leaveAfter(parts, { lane, token: '' }, { requestId, id }, outcome);
}

async function askedAt<T>({ running }: Pick<GateParts, 'running'>, ask: () => Promise<T>) {
  let [heldAt, heldAtWall] = [0, 0];
  const answer = await persistently(() => {
    [heldAt, heldAtWall] = [performance.now(), Date.now()];
    return ask();
  }, running.givenUp);
  return { answer, heldAt, heldAtWall };
}

/**
 * Leaves a directive in the gate, not in the lane, until it is due again. Where the pass cannot be returned, it lapses.
 */
async function leaveAfter(
  { gated }: GateParts,
  pass: Pass,
  ref: GateRef,
  outcome: JobOutcome,
): Promise<JobOutcome> {
  const againInMs = outcome.kind === 'later' ? outcome.at - Date.now() : null;
  try {
    const isOut = await gated.leave(pass, ref, againInMs);
    if (outcome.kind === 'done') return outcome;
    if (isOut) return { ...outcome, at: Date.now() };
    return outcome.errorType === undefined ? DONE : { kind: 'done', errorType: outcome.errorType };
  } catch {
    return outcome;
  }
}

/** Right before the call: whether the pass still holds, whatever this process slept through. */
export async function mayBegin(parts: GateParts, claimed: Pick<Claimed, 'pass' | 'claim'>): Promise<boolean> {
  return claimed.pass === null || (await heldPass(parts, claimed.pass, claimed.claim)) !== null;
}

/** The pass, as it was asked for last; null: it has lapsed. */
async function heldPass(parts: GateParts, pass: HeldPass, claim: Claimed['claim']): Promise<HeldPass | null> {
  for (let held = pass; ;) {
    // @guard flow-may-begin
    if (isWithin(held, parts.limits.leaseMs * FRESH_PER_LEASE)) return held;
    const known: HeldPass = held;
    const { answer, ...asked } = await askedAt(parts, () =>
      parts.gated.extend(known, claim, parts.limits.leaseMs),
    );
    if (!answer) return null;
    held = { ...known, ...asked };
  }
}

/**
 * The last check of an attempt under limits when its call is about to be sent, after all its waits. The attempt is
 * aborted when its pass has lapsed, or may have, and returns to the gate; then nothing may begin, whether or not Redis
 * answers.
 */
export function lastLook(
  parts: GateParts,
  { pass, claim }: Pick<Claimed, 'pass' | 'claim'>,
  { signal, stop }: Pick<AttemptHandle, 'signal' | 'stop'>,
): Pick<ExecutionContext, 'mayBegin'> {
  if (pass === null) return {};
  return {
    mayBegin: async () => {
      const held = await unlessStopped(heldPass(parts, pass, claim), signal);
      if (held === null) stop('lapsed');
      return held && (() => holdsYet(held, parts.limits.leaseMs, { signal, stop }));
    },
  };
}

function holdsYet(
  held: HeldPass,
  leaseMs: number,
  { signal, stop }: Pick<AttemptHandle, 'signal' | 'stop'>,
): boolean {
  if (!isWithin(held, leaseMs * WRITTEN_PER_LEASE)) stop('lapsed');
  return !signal.aborted;
}

/** null: it is stopped. */
async function unlessStopped<T>(looking: Promise<T>, signal: AbortSignal): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const end = (): void => resolve(null);
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([promise, looking]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Whether both clocks are within the bound: one stops while the machine sleeps, the other may be set. */
function isWithin({ heldAt, heldAtWall }: HeldPass, mostMs: number): boolean {
  // @guard flow-machine-slept
  return performance.now() - heldAt <= mostMs && Math.abs(Date.now() - heldAtWall) <= mostMs;
}
