// The attributes of a span for a submission under a key: its field, its outcome, and for a run the span of its own.
// Never shows a key of a caller, unless spans show content: it may name a person.
import { onceFieldOf, type OnceFields } from '../../contract/directive/once.ts';
import { ownId, tenantField } from '../../contract/access/tenant.ts';
import type { OnceRef } from '../../store/request/once.ts';
import { type ContentLimit, shown } from '../../platform/telemetry/traces/content.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import type { Attributes } from '../../platform/telemetry/traces/span.ts';
import { placeUnder } from '../../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import type { OnceAccepted } from '../under-key.ts';
import { RUN_ENTRY, RUN_LANE } from '../../queue/run-wake.ts';

export function onceAttributes(fields: OnceFields, content: ContentLimit): Attributes {
  const { dedupe, debounce, singleton } = fields;
  return {
    [ATTRIBUTE.once]: onceFieldOf(fields),
    [ATTRIBUTE.onceKey]: shown(content, (dedupe ?? debounce ?? singleton)?.key),
    [ATTRIBUTE.onceWindowMs]: dedupe?.window_ms,
    [ATTRIBUTE.onceQuietMs]: debounce?.quiet_ms,
    [ATTRIBUTE.onceAtMostMs]: debounce?.at_most_ms,
    [ATTRIBUTE.onceWhenOpen]: singleton?.when_open,
  };
}

export function outcomeAttributes({ outcome, replaces }: OnceAccepted): Attributes {
  return {
    [ATTRIBUTE.onceOutcome]: outcome,
    [ATTRIBUTE.onceReplaces]: replaces ? nameOf(replaces) : undefined,
  };
}

/** A run has the id of its request. */
function nameOf({ requestId, id }: OnceRef): string {
  return id === RUN_ENTRY ? ownId(requestId) : `${ownId(requestId)}/${id}`;
}

export interface SubmittedRun {
  readonly requestId: string;
  readonly agent: string;
  readonly fields: OnceFields;
  readonly traceparent: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** Names the run that represents it, which may be of another trace: that run has `invoke_agent` as its span, at its end. */
export function reportRunUnderKey(spans: Spans, run: SubmittedRun, verdict: OnceAccepted): void {
  const parent = spans.under(run.traceparent);
  if (parent === null) return;
  const { requestId, agent, fields, startedAt } = run;
  spans.report({
    place: placeUnder(parent, requestId, RUN_ENTRY, 'once'),
    name: `once ${RUN_LANE}`,
    kind: 'internal',
    startedAt,
    endedAt: spans.now(),
    attributes: {
      [ATTRIBUTE.messagingDestination]: RUN_LANE,
      [ATTRIBUTE.agentName]: agent,
      [ATTRIBUTE.request]: ownId(verdict.of.requestId),
      ...tenantField(requestId, ATTRIBUTE.tenant),
      ...onceAttributes(fields, spans.content),
      ...outcomeAttributes(verdict),
    },
    error: null,
  });
}
