// The attempts of one directive, made of the claims that the journal has noted and what its log says of them.
// Must never do I/O, nor call a claim ended that only an older version could have ended.
import type { TracedAttempt } from '../../contract/request/request-trace.ts';
import { WAIT_REASONS } from '../../contract/request/waiting.ts';
import type { ClaimNote } from '../../store/log/history.ts';
import { type DirectiveRecord, dueFrom } from '../../store/request/records.ts';
import { instantOrNull } from '../../queue/instant.ts';
import { type LoggedEnd, type LoggedRetry, type LogFacts, retryKey } from './trace-log.ts';

interface NotedClaims {
  record: DirectiveRecord;
  /** Oldest first. */
  claims: readonly ClaimNote[];
  log: Pick<LogFacts, 'ends' | 'retries'>;
  /** Ids of processes by their codes. */
  workers: ReadonlyMap<string, string>;
  /** Milliseconds since the epoch, by the clock of Redis. */
  now: number;
}

const WORKER_LOST = 'worker_lost';
/** A claim that recorded the end of the one before it: nothing was attempted. */
const UNUSED = 'unused';

export function tracedAttempts(noted: NotedClaims): TracedAttempt[] {
  const { record, claims } = noted;
  const numbers = attemptNumbers(record, claims);
  return claims.flatMap((claim, index) => {
    if (claim.end?.how === UNUSED) return [];
    const before = claims[index - 1];
    const isNext = before?.fence === claim.fence - 1;
    return [attemptOf(noted, claim, { number: numbers[index] ?? 1, before: isNext ? before : undefined })];
  });
}

/** Claims of which nothing is kept. */
export function claimsLeftOut({ fence }: DirectiveRecord, claims: readonly ClaimNote[]): number {
  return Math.max(0, fence - claims.length);
}

/** As signals carry them: the fence, without the claims before it that were no attempts. */
function attemptNumbers({ released }: DirectiveRecord, claims: readonly ClaimNote[]): number[] {
  let before = released;
  const numbers: number[] = [];
  for (const { fence, end } of claims.toReversed()) {
    if (end?.counted === false) before -= 1;
    numbers.push(fence === 1 ? 1 : Math.max(1, fence - Math.max(0, before)));
  }
  return numbers.reverse();
}

function attemptOf(
  noted: NotedClaims,
  claim: ClaimNote,
  { number, before }: { number: number; before: ClaimNote | undefined },
): TracedAttempt {
  const { record, log } = noted;
  const end = endOf(noted, claim);
  const said = saidOf(log, record.id, number, end.outcome);
  const isFirst = claim.fence === 1;
  return {
    attempt: number,
    due_at: instantOrNull(isFirst ? dueFrom(record) : dueAfter(before)),
    claimed_at: instantOrNull(claim.claimedAt),
    first_output_at: instantOrNull(claim.firstOutputAt),
    ended_at: instantOrNull(end.at),
    outcome: end.outcome,
    reason: end.reason ?? said?.error ?? null,
    delay_ms: end.delayMs,
    redelivered: before?.end?.how === 'lost',
    model: said?.model ?? null,
    ...(claim.worker === null ? {} : { worker: noted.workers.get(claim.worker) ?? claim.worker }),
  };
}

function saidOf(
  { ends, retries }: NotedClaims['log'],
  id: string,
  number: number,
  outcome: string,
): LoggedEnd | LoggedRetry | undefined {
  if (outcome === 'retry' || outcome === 'fallback') return retries.get(retryKey(id, number));
  return ENDED.has(outcome) ? ends.get(id) : undefined;
}

const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);

interface AttemptEnd {
  at: number | null;
  outcome: string;
  reason: string | null;
  delayMs: number | null;
}

function endOf(noted: NotedClaims, { fence, end }: ClaimNote): AttemptEnd {
  if (end !== null) return notedEnd(end);
  if (fence !== noted.record.fence) return { ...NOTHING, outcome: 'unknown' };
  return lastEnd(noted);
}

const NOTHING = { at: null, reason: null, delayMs: null };
/** A wait for a `retry` is no pause of its attempt: that attempt was made, and failed. */
const PAUSES: ReadonlySet<string> = new Set(WAIT_REASONS.filter((reason) => reason !== 'retry'));

function notedEnd({ at, how, delayMs }: NonNullable<ClaimNote['end']>): AttemptEnd {
  if (how === 'lost') return { at, outcome: WORKER_LOST, reason: WORKER_LOST, delayMs: null };
  if (PAUSES.has(how)) return { at, outcome: 'paused', reason: how, delayMs };
  return { at, outcome: how, reason: null, delayMs };
}

/** The last claim ended with its directive, or goes on while its lease lasts. */
function lastEnd({ record, log, now }: NotedClaims): AttemptEnd {
  const { status, endedAt, leaseUntil } = record;
  switch (status) {
    case 'running':
      return leaseUntil !== null && leaseUntil <= now
        ? { at: leaseUntil, outcome: WORKER_LOST, reason: WORKER_LOST, delayMs: null }
        : { ...NOTHING, outcome: 'running' };
    case 'succeeded':
      return { ...NOTHING, at: endedAt, outcome: status };
    case 'failed': {
      const isCancelled = log.ends.get(record.id)?.error === 'cancelled';
      return { ...NOTHING, at: endedAt, outcome: isCancelled ? 'cancelled' : status };
    }
    case 'accepted':
    case 'waiting':
      return { ...NOTHING, outcome: 'unknown' };
  }
}

/** Where a worker died, the next attempt could begin at the end of its lease. */
function dueAfter(before: ClaimNote | undefined): number | null {
  return before?.end ? before.end.at + before.end.delayMs : null;
}
