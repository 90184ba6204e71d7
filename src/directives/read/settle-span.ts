// The span of a directive that ends without an attempt: cancelled, past its deadline, or after its worker died.
// Must never be reported before the end is written.
import { ATTRIBUTE, EVENT, LINK } from '../../platform/telemetry/traces/semantic-names.ts';
import type { SpanEvent, SpanLink } from '../../platform/telemetry/traces/span.ts';
import { placeUnder } from '../../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import type { Envelope } from '../../store/request/envelope.ts';
import type { DirectiveRecord } from '../../store/request/records.ts';
import { attemptSpanId, type LostAttempt, reportLost } from '../attempt-place.ts';
import { laneAttributes } from './send-span.ts';
import { isOrdered, reportWait } from '../../queue/wait-span.ts';

export interface Settled extends Pick<LostAttempt, 'directive' | 'lane' | 'traceparent'> {
  /** The type of the error that it ended with. */
  error: string;
  /** The claim whose worker died; null: none did. */
  lostFence: number | null;
  /** Reported reasons of its wait. */
  waits?: readonly string[];
}

export function reportSettled(
  spans: Spans,
  { directive, lane, traceparent, error, lostFence, waits = [] }: Settled,
): void {
  const parent = spans.under(traceparent);
  if (parent === null) return;
  const now = spans.now();
  spans.report({
    place: placeUnder(parent, directive.request_id, directive.id, 'settle'),
    name: `settle ${lane}`,
    kind: 'client',
    attributes: laneAttributes(directive, lane, 'settle'),
    startedAt: now,
    endedAt: now,
    events: waits.length > 0 ? [waitEvent(waits, now)] : [],
    links: lostFence === null ? [] : [lostLink(attemptSpanId(parent, directive, lostFence))],
    error,
  });
}

/** Span of a directive that ended without a worker, by its state before. */
export function reportEndedByOthers(
  spans: Spans,
  { lane, fence, released, status, claimedAt, leaseUntil, waits, acceptedAt, begin }: DirectiveRecord,
  { directive, traceparent }: Pick<Envelope, 'directive' | 'traceparent'>,
  error: string,
): void {
  const about = { directive, lane: lane ?? '', traceparent };
  const claim = status === 'running' && leaseUntil !== null ? { fence, claimedAt, until: leaseUntil } : null;
  if (claim !== null) reportLost(spans, { ...about, model: null, attempt: fence - released, claim });
  const said = waits === null ? [] : [waits.reason];
  reportEndedWait(spans, { directive, traceparent }, { lane, fence, acceptedAt, begin, waits: said });
  reportSettled(spans, { ...about, error, lostFence: claim?.fence ?? null, waits: said });
}

/** Span of a wait before the first attempt. */
function reportEndedWait(
  spans: Spans,
  { directive, traceparent }: Pick<Envelope, 'directive' | 'traceparent'>,
  record: Pick<DirectiveRecord, 'lane' | 'fence' | 'acceptedAt' | 'begin'> & { waits: readonly string[] },
): void {
  const { lane, fence, acceptedAt, begin, waits } = record;
  const until = spans.now();
  const isLater = begin !== null && begin.at > acceptedAt;
  if (fence !== 0 || (!isLater && !isOrdered(waits))) return;
  const reasons = isLater ? ['later', ...waits.filter((reason) => reason !== 'later')] : waits;
  reportWait(spans, {
    directive,
    lane: lane ?? '',
    traceparent,
    name: 'ended',
    reasons,
    from: acceptedAt,
    until,
  });
}

/** At the end of the wait: its reasons are known, and how long it was is `adjutant.queue_ms`. */
export function waitEvent(reasons: readonly string[], at: number): SpanEvent {
  return { name: EVENT.waiting, at, attributes: { [ATTRIBUTE.waitReasons]: reasons } };
}

export function lostLink(spanId: string): SpanLink {
  return { spanId, attributes: { [ATTRIBUTE.link]: LINK.lostAttempt } };
}
