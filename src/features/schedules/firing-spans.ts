// The spans of the firings of a schedule: `fire {schedule}`, the first of its trace; the submission is under it. A
// repeated firing in another process continues the same trace.
import { ownId, tenantField } from '../../contract/access/tenant.ts';
import { ATTRIBUTE, EVENT } from '../../platform/telemetry/traces/semantic-names.ts';
import type { SpanEvent, SpanRecord } from '../../platform/telemetry/traces/span.ts';
import {
  derivedTraceId,
  placeUnder,
  type SpanParent,
  traceparentOf,
} from '../../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import { newTraceparent } from '../../platform/telemetry/traces/trace-context.ts';
import { dueAtOf } from './decision.ts';
import type { Schedule } from './schedule-record.ts';

/** An instant that fired nothing. */
export interface Unfired {
  readonly outcome: 'skipped' | 'failed' | 'missed';
  readonly reason: string | null;
  /** The code of the refusal; null: it was none. */
  readonly code: string | null;
  readonly instants: number;
}

export function createFiringSpans(spans: Spans) {
  const contextOf = ({ id, made }: Schedule, at: number): string =>
    spans.decided(newTraceparent(derivedTraceId('schedule', id, made, at)));

  /** Before it is submitted, in the context that is returned: should this process die, another one reports the span. */
  function begin(schedule: Schedule, at: number): string {
    const context = contextOf(schedule, at);
    const parent = spans.under(context);
    if (parent === null) return context;
    const now = spans.now();
    const span = firingSpan(parent, schedule, { at, now, outcome: 'fired' });
    spans.begin(span);
    return traceparentOf(span.place);
  }

  /** Reported by the process that submitted it, whichever records it. */
  function fired(schedule: Schedule, at: number, requestId: string): void {
    const parent = spans.under(contextOf(schedule, at));
    if (parent === null) return;
    const span = firingSpan(parent, schedule, { at, now: spans.now(), outcome: 'fired' });
    spans.report({ ...span, attributes: { ...span.attributes, [ATTRIBUTE.request]: requestId } });
  }

  function unfired(schedule: Schedule, at: number, { outcome, reason, code, instants }: Unfired): void {
    const parent = spans.under(contextOf(schedule, at));
    if (parent === null) return;
    const span = firingSpan(parent, schedule, { at, now: spans.now(), outcome });
    spans.report({
      ...span,
      attributes: {
        ...span.attributes,
        [ATTRIBUTE.reason]: reason ?? undefined,
        [ATTRIBUTE.scheduleInstants]: outcome === 'missed' ? instants : undefined,
      },
      error: outcome === 'skipped' ? null : (code ?? outcome),
    });
  }

  return { begin, fired, unfired };
}

interface Told {
  readonly at: number;
  readonly now: number;
  readonly outcome: string;
}

/** From when it was marked until now. */
function firingSpan(parent: SpanParent, schedule: Schedule, { at, now, outcome }: Told): SpanRecord {
  const { id, firingAt, begunAt } = schedule;
  const startedAt = firingAt === at ? Math.min(begunAt, now) : now;
  return {
    place: placeUnder(parent, 'fire'),
    name: `fire ${ownId(id)}`,
    kind: 'internal',
    startedAt,
    endedAt: now,
    attributes: {
      [ATTRIBUTE.schedule]: ownId(id),
      ...tenantField(id, ATTRIBUTE.tenant),
      [ATTRIBUTE.scheduleInstant]: new Date(at).toISOString(),
      [ATTRIBUTE.scheduleOutcome]: outcome,
      [ATTRIBUTE.scheduleLagMs]: Math.max(0, Math.round(startedAt - dueAtOf(schedule, at))),
    },
    events: waitEvents(schedule, startedAt),
    error: null,
  };
}

/** It was refused for now. */
function waitEvents({ waiting }: Schedule, startedAt: number): SpanEvent[] {
  if (waiting === null) return [];
  const at = Math.max(startedAt, Date.parse(waiting.since));
  return [{ name: EVENT.scheduleWaiting, at, attributes: { [ATTRIBUTE.reason]: waiting.reason } }];
}
