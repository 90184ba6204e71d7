// What a reader sees of requests and directives, made from the journal's records.
// Must never show claims, leases or fencing numbers.
import type { DirectiveSummary, DirectiveView, RequestView } from '../contract/request-view.ts';
import type { RunView } from '../contract/run.ts';
import type { Envelope } from '../journal/envelope.ts';
import type { DirectiveRecord, RequestRecord } from '../journal/records.ts';
import type { Signal } from '../contract/signal.ts';

function instant(at: number): string {
  return new Date(at).toISOString();
}

function instantOrNull(at: number | null): string | null {
  return at === null ? null : instant(at);
}

function directiveSummary(requestId: string, record: DirectiveRecord): DirectiveSummary {
  return {
    id: record.id,
    type: record.type as DirectiveSummary['type'],
    request_id: requestId,
    status: record.status,
    lane: record.lane,
    attempts: record.fence - record.released,
    failures: record.failures,
    redeliveries: record.redeliveries,
    accepted_at: instant(record.acceptedAt),
    started_at: instantOrNull(record.startedAt),
    ended_at: instantOrNull(record.endedAt),
    deadline_at: instant(record.deadlineAt),
    next_attempt_at: instantOrNull(record.nextAttemptAt),
    digest: record.digest,
  };
}

export function directiveView(
  requestId: string,
  record: DirectiveRecord,
  envelope: Envelope,
  result: Signal | null,
): DirectiveView {
  return { ...directiveSummary(requestId, record), directive: envelope.directive, result };
}

export function requestView(
  requestId: string,
  record: RequestRecord,
  directives: readonly DirectiveRecord[],
  run: RunView | null,
): RequestView {
  return {
    request_id: requestId,
    status: record.status,
    sequence: record.sequence,
    open: record.open,
    created_at: instant(record.createdAt),
    closed_at: instantOrNull(record.closedAt),
    directives: directives.map((directive) => directiveSummary(requestId, directive)),
    ...(run ? { run } : {}),
  };
}
