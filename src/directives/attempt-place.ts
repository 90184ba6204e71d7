// The place of the spans of an attempt, also of one whose worker died: its successor reports them. Independent of the
// process: the ids follow from the directive and its claim.
import type { Directive } from '../contract/directive/directive.ts';
import type { LostClaim } from '../store/request/verdicts.ts';
import { operationOf } from '../platform/telemetry/traces/directive-operation.ts';
import { ATTRIBUTE, EVENT } from '../platform/telemetry/traces/semantic-names.ts';
import type { SpanPlace } from '../platform/telemetry/traces/span.ts';
import { derivedSpanId, placeUnder, type SpanParent } from '../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../platform/telemetry/traces/spans.ts';
import { laneAttributes } from './read/send-span.ts';

export interface AttemptPlace {
  /** Context of `process {lane}`. */
  readonly attempt: SpanPlace;
  /** Context of the call in it, which the called server continues. */
  readonly call: SpanPlace;
}

/** The id of `process {lane}`. */
export function attemptSpanId(
  { traceId }: SpanParent,
  { request_id, id }: Pick<Directive, 'request_id' | 'id'>,
  fence: number,
): string {
  return derivedSpanId(traceId, request_id, id, 'process', fence);
}

export function attemptPlace(parent: SpanParent, directive: Directive, fence: number): AttemptPlace {
  const { traceId, spanId: parentId } = parent;
  const spanId = attemptSpanId(parent, directive, fence);
  return { attempt: { traceId, spanId, parentId }, call: placeUnder({ traceId, spanId }, 'call') };
}

/** An attempt that its own worker can no longer report. */
export interface LostAttempt {
  directive: Directive;
  lane: string;
  traceparent: string;
  /** The model that was asked; null: none, or unknown. */
  model: string | null;
  /** Absent: unknown. */
  attempt?: number;
  claim: LostClaim;
}

const WORKER_LOST = 'worker_lost';

/** Without them, what the called server reported of itself would hang in the air. */
export function reportLost(spans: Spans, lost: LostAttempt): void {
  const parent = spans.under(lost.traceparent);
  if (parent === null) return;
  const { directive, lane, claim, attempt } = lost;
  const place = attemptPlace(parent, directive, claim.fence);
  const endedAt = claim.until;
  const times = { startedAt: Math.min(claim.claimedAt ?? endedAt, endedAt), endedAt, error: WORKER_LOST };
  const call = operationOf(directive, lost.model);
  if (call !== null) spans.report({ ...call, place: place.call, kind: 'client', ...times, role: 'worker' });
  spans.report({
    place: place.attempt,
    name: `process ${lane}`,
    kind: 'consumer',
    attributes: {
      ...laneAttributes(directive, lane, 'process'),
      [ATTRIBUTE.attempt]: attempt,
      [ATTRIBUTE.fence]: claim.fence,
    },
    ...times,
    events: [{ name: EVENT.workerLost, at: endedAt }],
    role: 'worker',
  });
}
