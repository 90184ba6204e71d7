// One look of the sweeper at a directive: it enqueues again for it, ends it, or forgets it.
// Must never leave a step half done: what fails is done by the next look.
import type { Result } from '../contract/result.ts';
import type { Directive } from '../contract/directive.ts';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { deadlineExceededError } from '../contract/cancellation.ts';
import { waitOf } from '../contract/waiting.ts';
import { decodeEnvelope } from '../journal/envelope.ts';
import type { Journal } from '../journal/journal.ts';
import type { DirectiveRecord } from '../journal/records.ts';
import type { EndRecorder } from '../journal/end-recorder.ts';
import type { DirectiveRef, DueEntry, SweepIndex } from '../journal/sweep-index.ts';
import { failureSignal } from '../journal/terminal-signal.ts';
import { NO_SPANS, type Spans } from '../telemetry/spans.ts';
import { type EndedDirective, NO_REPORTS, type Reports } from '../telemetry/reports.ts';
import { jobDataFor } from './job.ts';
import type { LaneWaits } from './lane-waits.ts';
import type { Lanes } from './lanes.ts';
import { mayHaveRun } from './possible-execution.ts';
import { reportEndedByOthers } from './settle-span.ts';
import { successorId } from './successor-id.ts';
import { SHORTEST_LOOK_MS, sweepDecision } from './sweep-decision.ts';
import type { SayWait } from './sweep-waits.ts';

export interface DirectiveSweepParts {
  journal: Journal;
  index: SweepIndex;
  lanes: Lanes;
  ends: EndRecorder;
  /** Default: nothing is traced. */
  spans?: Spans;
  onEnded?(requestId: string, id: string): void;
  /** Who accepted it may have died before the request was noted for the list. Default: there is no list. */
  changed?: ((requestId: string) => void) | undefined;
  /** The task of an ended directive was not cancelled in time: from now on nobody asks its server. Default: that is not said. */
  onTaskGivenUp?: ((left: DirectiveRef & { lane: string | null }) => void) | undefined;
  /** Says why a directive that is due was not taken. Default: that is not said. */
  sayWait?: SayWait | undefined;
  /** Default: an end does not say what was waited for. */
  waits?: Pick<LaneWaits, 'of'> | undefined;
  /** Default: nothing is reported. */
  reports?: Reports;
}

export function createDirectiveSweep(parts: DirectiveSweepParts) {
  const { journal, index, lanes, ends, spans = NO_SPANS, reports = NO_REPORTS, onEnded, sayWait } = parts;

  async function examine(entry: DueEntry, now: number): Promise<void> {
    const record = await journal.directive(entry.requestId, entry.id);
    const decision = sweepDecision(entry, record, now);
    if (record) parts.changed?.(entry.requestId);
    if (record && decision.kind === 'withdraw') return enqueueForTask(parts, entry, record, decision.at);
    if (record && record.terminal !== null) await removeJob(entry, record);
    if (record && record.terminal !== null) reportGivenUp(parts, entry, record);
    if (decision.kind === 'forget') index.forget(entry);
    else if (record && decision.kind === 'record') await recordFailed(entry, record);
    else if (decision.kind === 'look_again') await index.lookAgain(entry, decision.at, decision.missed);
    else if (record && decision.kind === 'enqueue') await enqueueAgain(entry, record, decision.at);
    else if (record) await expire(entry, record, now);
  }

  /** A repeated submission may enqueue an ended directive; without a worker on its lane that job would stay for ever. */
  async function removeJob({ requestId, id }: DueEntry, { lane }: DirectiveRecord): Promise<void> {
    if (lane) await lanes.removeJob(lane, requestId, id);
  }

  /** Its worker died between the end and the dead letter, or it was submitted again after its end. */
  async function recordFailed(entry: DueEntry, record: DirectiveRecord): Promise<void> {
    const { requestId, id } = entry;
    // Whoever redrove it took it off the list.
    if (await journal.directive(requestId, successorId(id))) return index.forget(entry);
    const signal = record.terminal === null ? null : await journal.log.at(requestId, record.terminal);
    const result = signal && 'result' in signal.data ? (signal.data.result as Partial<Result>) : null;
    const errorType = result && 'error' in result ? (result.error?.type ?? null) : null;
    ends.record({ requestId, id, lane: record.lane, errorType });
  }

  async function enqueueAgain(entry: DueEntry, record: DirectiveRecord, at: number): Promise<void> {
    const json = await journal.envelope(entry.requestId, entry.id);
    if (json && record.lane) {
      const envelope = decodeEnvelope(json);
      const job = jobDataFor(envelope, record.digest, json.length);
      // Where somebody had it, its job may still lie where a worker died.
      await (record.fence > 0 ? lanes.requeue(record.lane, job) : lanes.enqueue(record.lane, job));
      reports.meters.swept('enqueued');
      await afterEnqueuing(entry, at);
      return sayWait?.(record, envelope);
    }
    await afterEnqueuing(entry, at);
  }

  /**
   * Meanwhile another may have ended the directive, and removed its job before this one was added: where nobody serves the lane it
   * would stay for ever. Or a worker has claimed it before the next check is set, which overwrites its own, earlier check.
   */
  async function afterEnqueuing(entry: DueEntry, at: number): Promise<void> {
    await index.lookAgain(entry, at);
    const record = await journal.directive(entry.requestId, entry.id);
    if (record && record.terminal !== null) return removeJob(entry, record);
    const leaseUntil = record?.leaseUntil ?? null;
    if (leaseUntil !== null && leaseUntil < at) await index.add([entry], leaseUntil);
  }

  async function expire(entry: DueEntry, record: DirectiveRecord, now: number): Promise<void> {
    const json = await journal.envelope(entry.requestId, entry.id);
    if (!json) return index.forget(entry);
    const { directive, traceparent } = decodeEnvelope(json);
    const facts = {
      status: record.status,
      attempts: record.fence - record.released,
      failures: record.failures,
      ...(mayHaveRun(record, directive) ? { outcome: 'unknown' } : {}),
    };
    const why = await serverDownText(parts, record);
    const error = deadlineExceededError(record.deadlineAt - record.acceptedAt, facts, why);
    const origin = { requestId: entry.requestId, causationId: entry.id, traceparent };
    const signal = failureSignal(directive, error, origin, {
      attempts: record.fence - record.released,
      redeliveries: record.redeliveries,
    });
    const { kind } = await journal.endUnclaimed(entry.requestId, entry.id, 'failed', [signal]);
    if (kind === 'ended') reportExpired({ ...entry, record, directive, traceparent, error, now });
    // Before the entry goes: when it fails, the next look finds the directive ended and does it again.
    await removeJob(entry, record);
    const ended = { requestId: entry.requestId, id: entry.id, lane: record.lane, errorType: error.type };
    if (record.fence > 0 && !record.task) ends.record(ended);
    else await ends.recordUntaken(ended, record.task ? now : now + SHORTEST_LOOK_MS);
    onEnded?.(entry.requestId, entry.id);
  }

  function reportExpired({ requestId, id, record, directive, now, ...end }: Expired): void {
    const { lane, acceptedAt } = record;
    reportEndedByOthers(spans, record, { directive, traceparent: end.traceparent }, end.error.type);
    reports.meters.swept('ended');
    reports.ended({ requestId, id, type: directive.type, lane, ...end, durationMs: now - acceptedAt });
  }

  return examine;
}

/** Until then the job stays, also where nobody serves the lane: the last look removes it. */
async function enqueueForTask(
  { lanes, index }: Pick<DirectiveSweepParts, 'lanes' | 'index'>,
  entry: DueEntry,
  { lane, digest }: DirectiveRecord,
  at: number,
): Promise<void> {
  const { requestId, id } = entry;
  if (lane) await lanes.requeue(lane, { request_id: requestId, id, digest });
  await index.lookAgain(entry, at);
}

/** Of an ended directive that the sweeper forgets now. */
function reportGivenUp(
  { onTaskGivenUp }: DirectiveSweepParts,
  { requestId, id }: DueEntry,
  { task, lane }: DirectiveRecord,
): void {
  if (task) onTaskGivenUp?.({ requestId, id, lane });
}

/** Of a directive that waited for a server to its end: why that was not reached, how often and how long it was tried. */
async function serverDownText(
  { waits }: DirectiveSweepParts,
  { lane, status }: DirectiveRecord,
): Promise<string | undefined> {
  if (lane === null || status === 'running') return undefined;
  const wait = await waits?.of(lane).catch(() => null);
  return wait?.reason === 'server_down' ? waitOf(lane, wait).message : undefined;
}

/** A directive that the sweeper has ended. */
interface Expired extends Pick<EndedDirective, 'requestId' | 'id' | 'traceparent'> {
  error: ErrorEnvelope;
  record: DirectiveRecord;
  directive: Directive;
  now: number;
}
