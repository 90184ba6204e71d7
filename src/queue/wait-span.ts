// The span of a wait that a caller or a limit has caused: until a directive may begin, and in the gate of its lane.
// Never made of a wait in a lane without such order: `adjutant.queue_ms` has that.
import type { Directive } from '../contract/directive/directive.ts';
import type { WaitReason } from '../contract/request/waiting.ts';
import { ownId, tenantField } from '../contract/access/tenant.ts';
import { ATTRIBUTE } from '../platform/telemetry/traces/semantic-names.ts';
import { placeUnder } from '../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../platform/telemetry/traces/spans.ts';

export interface Waited {
  readonly directive: Pick<Directive, 'request_id' | 'id' | 'type'>;
  readonly lane: string;
  readonly traceparent: string;
  /** Tells it from the others of the directive: `later`, or the number of the claim that ended it. */
  readonly name: string | number;
  /** The reasons, as far as they are known. */
  readonly reasons: readonly string[];
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
}

const ORDERED: ReadonlySet<string> = new Set<WaitReason>(['later', 'turn', 'limit', 'singleton']);

export function isOrdered(reasons: readonly string[]): boolean {
  return reasons.some((reason) => ORDERED.has(reason));
}

/** Beside the attempts, under what has sent the directive. */
export function reportWait(spans: Spans, waited: Waited): void {
  const { directive, lane, traceparent, name, reasons, from, until } = waited;
  const parent = spans.under(traceparent);
  if (parent === null) return;
  const { request_id, id, type } = directive;
  spans.report({
    place: placeUnder(parent, request_id, id, 'wait', name),
    name: `wait ${lane}`,
    kind: 'internal',
    startedAt: Math.min(from, until),
    endedAt: until,
    attributes: {
      [ATTRIBUTE.messagingDestination]: lane,
      [ATTRIBUTE.request]: ownId(request_id),
      ...tenantField(request_id, ATTRIBUTE.tenant),
      [ATTRIBUTE.directive]: id,
      [ATTRIBUTE.directiveType]: type,
      [ATTRIBUTE.waitReasons]: reasons.length === 0 ? undefined : reasons,
    },
    error: null,
  });
}
