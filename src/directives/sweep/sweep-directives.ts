// One check of a directive by the sweeper: it enqueues it again, ends it, or forgets it. Never leaves a step half done:
// the next check repeats a failed one.
import type { Result } from '../../contract/result.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { deadlineExceededError, expiredError } from '../../contract/directive/cancellation.ts';
import { waitOf } from '../../contract/request/waiting.ts';
import { decodeEnvelope, type Envelope } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { LaterIndex } from '../../store/index/later-index.ts';
import { type DirectiveRecord, dueFrom } from '../../store/request/records.ts';
import type { EndRecorder } from '../../store/index/end-recorder.ts';
import type { DueEntry, SweepIndex } from '../../store/index/sweep-index.ts';
import { failureSignal } from '../../store/log/terminal-signal.ts';
import { NO_SPANS, type Spans } from '../../platform/telemetry/traces/spans.ts';
import { type EndedDirective, NO_REPORTS, type Reports } from '../../platform/telemetry/reports.ts';
import { ticketNow } from '../../queue/flow/ticket.ts';
import type { Canceller } from '../change/cancel.ts';
import type { GatedLanes } from '../../queue/gated-lanes.ts';
import { failureText, jobOfRecord } from '../../queue/job.ts';
import type { LaneWaits } from '../../queue/lane-waits.ts';
import type { Lanes } from '../../queue/lanes.ts';
import type { CallNotice } from './notice.ts';
import { mayHaveRun } from '../change/possible-execution.ts';
import { reportEndedByOthers } from '../read/settle-span.ts';
import { successorId } from '../change/successor-id.ts';
import { SHORTEST_LOOK_MS, sweepDecision, type SweepDecision } from './sweep-decision.ts';
import type { SayWait } from './sweep-waits.ts';
import type { DirectiveRef } from '../../store/refs.ts';

export interface DirectiveSweepParts {
  journal: Journal;
  index: SweepIndex;
  later: Pick<LaterIndex, 'park' | 'drop'>;
  lanes: Lanes;
  gated: Pick<GatedLanes, 'enter' | 'removeEnded'>;
  ends: EndRecorder;
  /** Ends directives whose canceller has died. */
  canceller: Pick<Canceller, 'cancelEach'>;
  /** Default: nothing is traced. */
  spans?: Spans;
  /** Who accepted it may have died before the request was noted for the list. Default: there is no list. */
  changed?: ((requestId: string) => void) | undefined;
  /** Whether the list has a request as it is. Default: unknown. */
  isListed?: ((requestId: string) => Promise<boolean>) | undefined;
  /** The task of an ended directive was not cancelled in time: its server is not asked any more. Default: not reported. */
  onTaskGivenUp?: ((left: DirectiveRef & { lane: string | null }) => void) | undefined;
  /** Says why a directive that is due was not taken. Default: that is not said. */
  sayWait?: SayWait | undefined;
  /** Default: an end does not say what was waited for. */
  waits?: Pick<LaneWaits, 'of'> | undefined;
  /** Default: nothing is reported. */
  reports?: Reports;
  /** Default: the notice waits for its own check. */
  callNotice?: CallNotice | undefined;
}

export function createDirectiveSweep(parts: DirectiveSweepParts) {
  const { journal, index, lanes, gated, ends, reports = NO_REPORTS, sayWait } = parts;
  const noteAgain = createRepeatedNotes((requestId) => parts.changed?.(requestId), parts);

  /** `begins`: it was not due before, so it could not have been claimed. */
  async function examine(entry: DueEntry, now: number, begins = false): Promise<void> {
    const record = await journal.directive(entry.requestId, entry.id);
    const decision = sweepDecision(entry, record, now);
    if (record) noteAgain(entry.requestId, record, { kind: decision.kind, now });
    if (record && decision.kind === 'withdraw') return enqueueForTask(parts, entry, record, decision.at);
    if (record && record.terminal !== null) await dropUnbegun(parts, entry, record, now);
    if (record && record.terminal !== null) await removeJob(entry, record);
    if (record && record.terminal !== null) reportGivenUp(parts, entry, record);
    if (decision.kind === 'forget') index.forget(entry);
    else if (record && decision.kind === 'record') await recordFailed(entry, record);
    else if (decision.kind === 'look_again') await index.lookAgain(entry, decision.at, decision.missed);
    else if (record && decision.kind === 'enqueue') await enqueueAgain(entry, record, decision.at, begins);
    else if (record && decision.kind === 'cancel') await endCancelled(parts, entry, decision);
    else if (record && decision.kind === 'release') await release(entry, record, now, decision.at);
    else if (record && decision.kind === 'park')
      await parts.later.park(entry, record.lane ?? '', decision.at);
    else if (record && decision.kind === 'expire') await expire(entry, record, now, decision.isTooLate);
  }

  /** It waits for the end of another one, under the same key. */
  async function release(entry: DueEntry, record: DirectiveRecord, now: number, at: number): Promise<void> {
    const released = await journal.releaseOnce(entry);
    if (released.kind !== 'released' || released.at > at) await index.lookAgain(entry, at);
    else await enqueueAgain(entry, record, now + SHORTEST_LOOK_MS, true);
  }

  /** A repeated submission may enqueue an ended directive; without a worker on its lane that job would stay for ever. */
  async function removeJob(entry: DueEntry, record: DirectiveRecord): Promise<void> {
    const { requestId, id } = entry;
    if (record.lane === null) return;
    const failure = async (): Promise<string | null> => {
      const error = await errorOf(entry, record);
      return error && failureText(error);
    };
    await Promise.all([
      lanes.removeJob(record.lane, requestId, id, failure),
      gated.removeEnded(record.lane, { requestId, id }),
    ]);
  }

  /** The error in which a directive ended; null: it has not ended, or not in one. */
  async function errorOf({ requestId, id }: DueEntry, { terminal }: DirectiveRecord) {
    const ended = terminal ?? (await journal.directive(requestId, id))?.terminal ?? null;
    const signal = ended === null ? null : await journal.log.at(requestId, ended);
    const result = signal && 'result' in signal.data ? (signal.data.result as Partial<Result>) : null;
    return result && 'error' in result ? (result.error ?? null) : null;
  }

  /** Its worker died between the end and the dead letter, or it was submitted again after its end. */
  async function recordFailed(entry: DueEntry, record: DirectiveRecord): Promise<void> {
    const { requestId, id } = entry;
    // Whoever redrove it took it off the list.
    if (await journal.directive(requestId, successorId(id))) return index.forget(entry);
    const errorType = (await errorOf(entry, record))?.type ?? null;
    ends.record({ requestId, id, lane: record.lane, errorType });
  }

  async function enqueueAgain(entry: DueEntry, record: DirectiveRecord, at: number, begins: boolean) {
    const json = await journal.envelope(entry.requestId, entry.id);
    if (json && record.lane) {
      const envelope = decodeEnvelope(json);
      await enqueueIn(parts, record.lane, record, envelope);
      if (!begins) reports.meters.swept('enqueued');
      await afterEnqueuing(entry, at);
      return begins ? undefined : sayWait?.(record, envelope);
    }
    await afterEnqueuing(entry, at);
  }

  /**
   * Meanwhile another may have ended the directive, and removed its job before this one was added: where no worker serves the lane it
   * would stay for ever. Or a worker has claimed it before the next check is set, which overwrites its own, earlier check.
   */
  async function afterEnqueuing(entry: DueEntry, at: number): Promise<void> {
    await index.lookAgain(entry, at);
    const record = await journal.directive(entry.requestId, entry.id);
    if (record && record.terminal !== null) return removeJob(entry, record);
    const leaseUntil = record?.leaseUntil ?? null;
    if (leaseUntil !== null && leaseUntil < at) await index.add([entry], leaseUntil);
  }

  async function expire(entry: DueEntry, record: DirectiveRecord, now: number, isTooLate = false) {
    const json = await journal.envelope(entry.requestId, entry.id);
    if (!json) return index.forget(entry);
    const { directive, traceparent, noticed } = decodeEnvelope(json);
    const error = await expiryError(parts, record, directive, isTooLate);
    const origin = { requestId: entry.requestId, causationId: entry.id, traceparent };
    const signal = failureSignal(directive, error, origin, {
      attempts: record.fence - record.released,
      redeliveries: record.redeliveries,
    });
    const { kind } = await journal.endUnclaimed(entry.requestId, entry.id, 'failed', [signal], {
      onlyUnbegun: isTooLate,
    });
    // A worker has it after all.
    if (kind === 'stale') return index.lookAgain(entry, now + SHORTEST_LOOK_MS);
    if (noticed) parts.callNotice?.(entry.requestId, entry.id);
    if (kind === 'ended') reportExpired(parts, { ...entry, record, directive, traceparent, error, now });
    // Before the entry goes: when it fails, the next look finds the directive ended and does it again.
    await removeJob(entry, record);
    const ended = { requestId: entry.requestId, id: entry.id, lane: record.lane, errorType: error.type };
    if (record.fence > 0 && !record.task) ends.record(ended);
    else await ends.recordUntaken(ended, record.task ? now : now + SHORTEST_LOOK_MS);
  }

  return examine;
}

/** Who ended it before it began may have died before that was taken out of what begins later. */
async function dropUnbegun(
  { later }: Pick<DirectiveSweepParts, 'later'>,
  entry: DueEntry,
  { begin, lane }: DirectiveRecord,
  now: number,
): Promise<void> {
  if (lane && begin !== null && begin.at > now) await later.drop(entry, lane, SHORTEST_LOOK_MS);
}

/** Repeated by the next check if it fails. */
async function endCancelled(
  { index, canceller }: Pick<DirectiveSweepParts, 'index' | 'canceller'>,
  entry: DueEntry,
  { at, reason }: { at: number; reason: string },
): Promise<void> {
  await index.lookAgain(entry, at);
  await canceller.cancelEach(entry.requestId, [entry.id], reason || undefined);
}

async function enqueueIn(
  { lanes, gated }: Pick<DirectiveSweepParts, 'lanes' | 'gated'>,
  lane: string,
  record: DirectiveRecord,
  envelope: Envelope,
): Promise<void> {
  const job = jobOfRecord(envelope, record);
  const ticket = ticketNow(envelope, lane, record.priority);
  if (ticket !== null) await gated.enter(lane, job, { ticket, arrivedAt: dueFrom(record) });
  // Where somebody had it, its job may still lie where a worker died.
  else await (record.fence > 0 ? lanes.requeue(lane, job) : lanes.enqueue(lane, job));
}

async function expiryError(
  parts: DirectiveSweepParts,
  record: DirectiveRecord,
  directive: Directive,
  isTooLate: boolean,
): Promise<ErrorEnvelope> {
  const facts = {
    status: record.status,
    attempts: record.fence - record.released,
    failures: record.failures,
    ...(!isTooLate && mayHaveRun(record, directive) ? { outcome: 'unknown' } : {}),
  };
  const why = await absenceText(parts, record);
  const from = dueFrom(record);
  return isTooLate
    ? expiredError((record.begin?.by ?? from) - from, facts, why)
    : deadlineExceededError(record.deadlineAt - from, facts, why);
}

/** Until then the job stays, also where no worker serves the lane: the last check removes it. */
async function enqueueForTask(
  { lanes, index }: Pick<DirectiveSweepParts, 'lanes' | 'index'>,
  entry: DueEntry,
  { lane, digest }: DirectiveRecord,
  at: number,
): Promise<void> {
  const { requestId, id } = entry;
  if (lane) await lanes.requeue(lane, { request_id: requestId, id, digest }, { evenEnded: true });
  await index.lookAgain(entry, at);
}

/** Removes an ended directive from the index. */
function reportGivenUp(
  { onTaskGivenUp }: DirectiveSweepParts,
  { requestId, id }: DueEntry,
  { task, lane }: DirectiveRecord,
): void {
  if (task) onTaskGivenUp?.({ requestId, id, lane });
}

/** Details of a directive that waited for a server or a program to its end: the cause, and what was tried. */
async function absenceText(
  { waits }: DirectiveSweepParts,
  { lane, status }: DirectiveRecord,
): Promise<string | undefined> {
  if (lane === null || status === 'running') return undefined;
  const wait = await waits?.of(lane).catch(() => null);
  const isAbsent = wait?.reason === 'server_down' || wait?.reason === 'no_program';
  return isAbsent ? waitOf(lane, wait).message : undefined;
}

function reportExpired(
  { spans = NO_SPANS, reports = NO_REPORTS }: Pick<DirectiveSweepParts, 'spans' | 'reports'>,
  { requestId, id, record, directive, now, ...end }: Expired,
): void {
  const { lane } = record;
  reportEndedByOthers(spans, record, { directive, traceparent: end.traceparent }, end.error.type);
  reports.meters.swept('ended');
  const durationMs = now - dueFrom(record);
  reports.ended({ requestId, id, directive, lane, ...end, durationMs });
}

/** A directive that the sweeper has ended. */
interface Expired extends Pick<EndedDirective, 'requestId' | 'id' | 'traceparent'> {
  error: ErrorEnvelope;
  record: DirectiveRecord;
  directive: Directive;
  now: number;
}

/** A request with many that wait is noted this often by one process, not at each check of one of them: its row is read from all of it. */
const REPEAT_MS = 60_000;
/** Beyond it they are noted again. */
const MOST_KNOWN = 10_000;

type RepeatNote = (
  requestId: string,
  record: DirectiveRecord,
  seen: { kind: SweepDecision['kind']; now: number },
) => void;

interface RepeatedNotesOptions {
  /** Whether the list has the request as it is: then a repeated check notes nothing. Default: unknown. */
  readonly isListed?: ((requestId: string) => Promise<boolean>) | undefined;
  /** Milliseconds. Default: the process' own clock. */
  readonly clock?: () => number;
}

export function createRepeatedNotes(
  note: (requestId: string) => void,
  { isListed, clock = () => performance.now() }: RepeatedNotesOptions = {},
): RepeatNote {
  const notedAt = new Map<string, number>();

  async function noteUnlessListed(requestId: string): Promise<void> {
    if (!(await isListed?.(requestId).catch(() => false))) note(requestId);
  }

  return (requestId, record, { kind, now }) => {
    const at = clock();
    const isRepeated = waitsOn(record, kind, now);
    if (isRepeated && at - (notedAt.get(requestId) ?? -Infinity) < REPEAT_MS) return;
    if (notedAt.size >= MOST_KNOWN) notedAt.clear();
    notedAt.set(requestId, at);
    if (isRepeated && isListed) void noteUnlessListed(requestId);
    else note(requestId);
  };
}

/** It has been looked at before, and nothing becomes of it now. */
function waitsOn(record: DirectiveRecord, kind: SweepDecision['kind'], now: number): boolean {
  return (kind === 'enqueue' || kind === 'look_again') && now - dueFrom(record) > 2 * SHORTEST_LOOK_MS;
}
