// Cancels directives: ends what waits, and tells every worker about what runs.
// Must never report a directive as cancelled that may still be carried out.
import { ownId } from '../../contract/access/tenant.ts';
import { failureText } from '../../queue/job.ts';
import {
  type Cancellation,
  cancelledError,
  type CancelledDirective,
} from '../../contract/directive/cancellation.ts';
import { ticketIn } from '../../queue/flow/ticket.ts';
import { decodeEnvelope, type Envelope } from '../../store/request/envelope.ts';
import type { GateRef } from '../../store/limits/gate.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { LaterIndex } from '../../store/index/later-index.ts';
import type { KeySpace } from '../../store/keys.ts';
import type { DirectiveRecord } from '../../store/request/records.ts';
import type { SweepIndex } from '../../store/index/sweep-index.ts';
import { failureSignal } from '../../store/log/terminal-signal.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { NO_SPANS, type Spans } from '../../platform/telemetry/traces/spans.ts';
import { NO_REPORTS, type Reports } from '../../platform/telemetry/reports.ts';
import type { GatedLanes } from '../../queue/gated-lanes.ts';
import type { Lanes } from '../../queue/lanes.ts';
import { type CallNotice, noticeRef } from '../sweep/notice.ts';
import { mayHaveRun } from './possible-execution.ts';
import { SHORTEST_LOOK_MS } from '../sweep/sweep-decision.ts';
import { reportEndedByOthers } from '../read/settle-span.ts';

export interface CancellerOptions {
  connection: RedisConnection;
  keys: KeySpace;
  journal: Journal;
  index: SweepIndex;
  later: Pick<LaterIndex, 'drop'>;
  lanes: Lanes;
  gated: Pick<GatedLanes, 'remove'>;
  /** Default: nothing is traced. */
  spans?: Spans;
  /** Default: nothing is reported. */
  reports?: Reports;
  /** Default: the sweeper notifies of the end. */
  callNotice?: CallNotice;
}

export type Canceller = ReturnType<typeof createCanceller>;

/** Directives of one request that are cancelled side by side. */
const AT_ONCE = 50;

export function createCanceller(options: CancellerOptions) {
  const { connection, keys, journal, index, later, lanes, spans = NO_SPANS, reports = NO_REPORTS } = options;

  /**
   * Cancels one directive, or all of a request; null when there is no such request or directive. `acceptedUntil`, by the clock
   * of Redis: what was accepted later is left alone, so that a repeat does not meet it.
   */
  async function cancel(
    requestId: string,
    directiveId: string | undefined,
    reason: string | undefined,
    acceptedUntil = Infinity,
  ): Promise<Cancellation | null> {
    const found = await recordsOf(journal, requestId, directiveId);
    if (found === null) return null;
    const records = found.filter(({ acceptedAt }) => acceptedAt <= acceptedUntil);
    const directives = await inBatches(records, (record) => cancelOne(requestId, record, reason));
    const ended = directives.filter((one) => one !== null);
    // Only of one directive with its result: those of a request may be many, and large.
    if (directiveId === undefined) return { request_id: ownId(requestId), directives: ended };
    return {
      request_id: ownId(requestId),
      directives: await Promise.all(ended.map(async (one) => withResult(journal, requestId, one))),
    };
  }

  /** Ends those of the directives that no attempt is running of; the others go on. */
  const withdraw = (requestId: string, ids: readonly string[], reason: string): Promise<void> =>
    endEach(requestId, ids, reason, true);

  const cancelEach = (requestId: string, ids: readonly string[], reason?: string): Promise<void> =>
    endEach(requestId, ids, reason, false);

  async function endEach(
    requestId: string,
    ids: readonly string[],
    reason: string | undefined,
    spareRunning: boolean,
  ): Promise<void> {
    await inBatches(ids, async (id) => {
      const record = await journal.directive(requestId, id);
      if (record?.terminal === null) await cancelOne(requestId, record, reason, spareRunning);
    });
  }

  /** null: an attempt of it is running, and was to be spared. */
  async function cancelOne(
    requestId: string,
    record: DirectiveRecord,
    reason: string | undefined,
    spareRunning = false,
  ): Promise<CancelledDirective | null> {
    const { id } = record;
    const json = record.terminal === null ? await journal.envelope(requestId, id) : null;
    if (json === null) return { id, status: 'ended' };
    const envelope = decodeEnvelope(json);
    const signal = cancelledSignal(envelope, record, reason);
    // What is cancelled before it begins was to be looked at much later: who dies here has it looked at soon.
    if (envelope.noticed) await index.lookWithin(noticeRef(requestId, id), SHORTEST_LOOK_MS);
    if (record.begin !== null) await index.lookWithin({ requestId, id }, SHORTEST_LOOK_MS);
    const verdict = await journal.cancel(requestId, id, signal, reason, record, spareRunning);
    if (verdict.kind === 'running') return null;
    if (verdict.kind === 'requested') {
      await connection.publish(keys.cancellations, `${requestId}/${id}`);
      return { id, status: 'requested' };
    }
    if (verdict.kind === 'changed') {
      // A worker had it meanwhile: the signal would say too little of what may have happened.
      return cancelOne(requestId, (await journal.directive(requestId, id)) ?? record, reason, spareRunning);
    }
    if (verdict.kind !== 'ended') return { id, status: 'ended' };
    if (envelope.noticed) options.callNotice?.(requestId, id);
    reportEndedByOthers(spans, record, envelope, 'cancelled');
    reportCancelled(reports, envelope, record, reason);
    // It may have gone on to another lane since it was read.
    const ended = await journal.directive(requestId, id);
    await leaveGate(options, envelope, (ended ?? record).lane, { requestId, id });
    await removeJob(ended ?? record, { requestId, id }, failureText(cancelledError(reason ?? null, false)));
    return { id, status: 'cancelled' };
  }

  /** Where the job cannot be taken out now, or is still on its way, the sweeper does it: its entry stays until then. */
  async function removeJob(
    { lane, fence, task, begin }: DirectiveRecord,
    ref: { requestId: string; id: string },
    failure: string,
  ): Promise<void> {
    try {
      if (lane) await lanes.removeJob(lane, ref.requestId, ref.id, async () => failure);
      // It has a worker cancel the task of the call.
      if (task) await index.lookWithin(ref, 0);
      else if (fence > 0) index.forget(ref);
      else if (begin !== null && lane) await later.drop(ref, lane, SHORTEST_LOOK_MS);
    } catch {
      // The directive has ended all the same.
    }
  }

  return { cancel, cancelEach, withdraw };
}

async function leaveGate(
  { gated }: Pick<CancellerOptions, 'gated'>,
  envelope: Envelope,
  lane: string | null,
  ref: GateRef,
): Promise<void> {
  if (lane !== null && ticketIn(envelope, lane) !== null) await gated.remove(lane, ref);
}

/** null: there is no such request or directive. */
async function recordsOf(
  journal: Journal,
  requestId: string,
  directiveId: string | undefined,
): Promise<DirectiveRecord[] | null> {
  if (directiveId === undefined) return (await journal.request(requestId))?.directives ?? null;
  const record = await journal.directive(requestId, directiveId);
  return record && [record];
}

async function withResult(
  journal: Journal,
  requestId: string,
  { id, status }: CancelledDirective,
): Promise<CancelledDirective> {
  if (status === 'requested') return { id, status };
  const record = await journal.directive(requestId, id);
  const result = record?.terminal ? await journal.log.at(requestId, record.terminal) : null;
  return { id, status, ...(result ? { result } : {}) };
}

async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let first = 0; first < items.length; first += AT_ONCE)
    done.push(...(await Promise.all(items.slice(first, first + AT_ONCE).map(work))));
  return done;
}

function reportCancelled(
  reports: Reports,
  { directive, traceparent }: Envelope,
  record: DirectiveRecord,
  reason: string | undefined,
): void {
  const { request_id: requestId, id } = directive;
  const error = cancelledError(reason ?? null, mayHaveRun(record, directive));
  reports.ended({ requestId, id, directive, lane: record.lane, traceparent, error, durationMs: null });
}

function cancelledSignal(
  { directive, traceparent }: Envelope,
  record: DirectiveRecord,
  reason: string | undefined,
) {
  // It ends here although it ran: only when its worker is gone.
  const error = cancelledError(reason ?? null, mayHaveRun(record, directive));
  const origin = { requestId: directive.request_id, causationId: directive.id, traceparent };
  const attempts = record.fence - record.released;
  return failureSignal(directive, error, origin, { attempts });
}
