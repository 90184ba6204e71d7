// The spans of an attempt: `process {lane}`, and in it the call that was made. Never made for an attempt whose claim
// was taken over: its successor reports it as lost.
import { modelsOf } from './model-candidate.ts';
import { type Directive, DIRECTIVE_TYPES } from '../../contract/directive/directive.ts';
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { Execution } from '../executors/definition.ts';
import {
  attemptPlace,
  type AttemptPlace,
  attemptSpanId,
  reportLost,
} from '../../directives/attempt-place.ts';
import type { JobOutcome } from '../../queue/consume.ts';
import { laneAttributes } from '../../directives/read/send-span.ts';
import { lostLink, waitEvent } from '../../directives/read/settle-span.ts';
import { operationOf } from '../../platform/telemetry/traces/directive-operation.ts';
import { ATTRIBUTE, EVENT, LINK } from '../../platform/telemetry/traces/semantic-names.ts';
import type { Attributes, SpanEvent, SpanLink, SpanRecord } from '../../platform/telemetry/traces/span.ts';
import { traceparentOf } from '../../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import { childTraceparent } from '../../platform/telemetry/traces/trace-context.ts';
import type { AttemptParts, Claimed, Granted } from './claimed.ts';
import type { Outcome, StopReason } from './outcome.ts';
import { type ContentLimit, shown } from '../../platform/telemetry/traces/content.ts';
import { laterOf } from '../../contract/directive/later.ts';
import { onceFieldOf, type OnceFields } from '../../contract/directive/once.ts';
import { isOrdered, reportWait } from '../../queue/wait-span.ts';

/** The place of an attempt in its trace. */
export interface AttemptTrace extends AttemptPlace {
  /** When the claim was asked for; milliseconds since the epoch, with fractions. */
  readonly claimedAt: number;
}

/** null: its trace is not recorded. */
export function attemptTrace(
  spans: Spans,
  { directive, traceparent }: Claimed['envelope'],
  { fence }: Pick<Granted, 'fence'>,
  claimedAt: number,
): AttemptTrace | null {
  const parent = spans.under(traceparent);
  return parent && { ...attemptPlace(parent, directive, fence), claimedAt };
}

/** The trace context that the attempt's signals carry and its calls continue. */
export function attemptContext(
  spans: Spans,
  trace: AttemptTrace | null,
  directive: Directive,
  traceparent: string,
) {
  if (trace === null) return childTraceparent(spans.decided(traceparent));
  return traceparentOf(operationOf(directive, null) === null ? trace.attempt : trace.call);
}

/** How an attempt went, for its spans. */
export interface AttemptStory {
  /** When the call began and ended; milliseconds since the epoch, with fractions. */
  readonly begunAt: number;
  readonly endedAt: number;
  /** false: the provider is out of reach and was not asked. */
  readonly called: boolean;
  readonly execution: Execution;
  readonly repeatPolicy: RepeatPolicy;
  readonly stop: StopReason | null;
  readonly outcome: Outcome;
  /** The recorded outcome. */
  readonly recorded: JobOutcome;
}

export function reportAttempt(parts: AttemptParts, claimed: Claimed, story: AttemptStory): void {
  const { spans } = parts;
  const { trace } = claimed;
  if (trace === null || isTakenOver(story)) return;
  const call = story.called ? callSpan(spans, claimed, trace, story) : null;
  if (call !== null) spans.report(call);
  spans.report(processSpan(claimed, trace, story, spans.now()));
  reportWaits(parts, claimed);
}

/** Nothing was written: the attempt belongs to another worker by now. */
function isTakenOver({ recorded }: AttemptStory): boolean {
  return recorded.kind === 'done' && recorded.errorType === undefined;
}

function callSpan(
  { content }: Spans,
  claimed: Claimed,
  { call: place }: AttemptTrace,
  { execution, repeatPolicy, begunAt: startedAt, endedAt }: AttemptStory,
): SpanRecord | null {
  const { directive } = claimed.envelope;
  const operation = operationOf(directive, modelOf(claimed));
  if (operation === null) return null;
  const { result, rejected = [] } = execution;
  const attributes: Attributes = {
    ...operation.attributes,
    ...execution.span,
    // A model call is always repeatable.
    [ATTRIBUTE.repeatPolicy]: directive.type === 'tool_exec' ? repeatPolicy : undefined,
    [ATTRIBUTE.rejected]: rejected.length > 0 ? rejected.length : undefined,
    ...contentOf(content, directive, execution),
  };
  const error = result.ok ? null : result.error.type;
  return { place, name: operation.name, kind: 'client', startedAt, endedAt, attributes, error };
}

function modelOf(claimed: Pick<Claimed, 'envelope' | 'candidate'>): string | null {
  return modelsOf(claimed)[claimed.candidate.index] ?? null;
}

function processSpan(
  claimed: Claimed,
  { attempt: place, claimedAt: startedAt }: AttemptTrace,
  story: AttemptStory,
  endedAt: number,
): SpanRecord {
  const { envelope, lane, granted, attempt } = claimed;
  return {
    place,
    name: `process ${lane}`,
    kind: 'consumer',
    startedAt,
    endedAt,
    attributes: {
      ...laneAttributes(envelope.directive, lane, 'process'),
      [ATTRIBUTE.attempt]: attempt,
      [ATTRIBUTE.fence]: granted.fence,
      [ATTRIBUTE.failures]: granted.failures,
      [ATTRIBUTE.redeliveries]: granted.redeliveries,
      [ATTRIBUTE.queueMs]: Math.max(0, granted.now - granted.dueAt),
    },
    events: eventsOf(claimed, story, { startedAt, endedAt }),
    links: linksOf(claimed, place.traceId),
    error: story.recorded.errorType ?? null,
  };
}

/** In a serial lane a claim may have found the place taken, and has no span. */
function linksOf({ granted, envelope: { directive }, serial }: Claimed, traceId: string): SpanLink[] {
  const before = attemptSpanId({ traceId, spanId: null }, directive, granted.fence - 1);
  if (granted.lostClaim !== null) return [lostLink(before)];
  if (granted.fence === 1 || serial) return [];
  return [{ spanId: before, attributes: { [ATTRIBUTE.link]: LINK.previousAttempt } }];
}

function eventsOf(
  { granted }: Claimed,
  { outcome, stop, endedAt: calledUntil, recorded }: AttemptStory,
  { startedAt, endedAt }: { startedAt: number; endedAt: number },
): SpanEvent[] {
  const redelivered = { [ATTRIBUTE.redeliveries]: granted.redeliveries };
  const { waits } = granted;
  const next = recorded.kind === 'later' || outcome.kind === 'fallback' ? nextEvent(outcome) : null;
  return [
    ...(waits.length > 0 ? [waitEvent(waits, startedAt)] : []),
    ...(granted.lostClaim !== null
      ? [{ name: EVENT.redelivered, at: startedAt, attributes: redelivered }]
      : []),
    ...(stop === 'cancelled' ? [{ name: EVENT.cancelled, at: calledUntil }] : []),
    ...(next === null ? [] : [{ ...next, at: endedAt }]),
  ];
}

/** How the directive goes on after this attempt; null: it has ended. */
function nextEvent(outcome: Outcome): Omit<SpanEvent, 'at'> | null {
  switch (outcome.kind) {
    case 'retry':
      return { name: EVENT.retryScheduled, attributes: { [ATTRIBUTE.delayMs]: Math.round(outcome.delayMs) } };
    case 'fallback': {
      const { from, to } = outcome;
      return {
        name: EVENT.fallback,
        attributes: { [ATTRIBUTE.fallbackFrom]: from, [ATTRIBUTE.fallbackTo]: to },
      };
    }
    case 'pause': {
      const { delayMs, lane, reason, refused } = outcome;
      return {
        name: EVENT.paused,
        attributes: {
          [ATTRIBUTE.delayMs]: delayMs,
          [ATTRIBUTE.wholeLane]: lane,
          [ATTRIBUTE.waitReasons]: [reason],
          [ATTRIBUTE.refusedCalls]: refused ?? 0,
        },
      };
    }
    case 'ask':
      return {
        name: EVENT.inputRequested,
        attributes: { [ATTRIBUTE.questions]: outcome.asks.questions.length },
      };
    case 'release':
      return { name: EVENT.released };
    case 'end':
    case 'drop':
      return null;
  }
}

/** Reports the attempt before this one, whose worker died. */
export function reportLostBefore({ spans }: AttemptParts, claimed: Claimed): void {
  const { lostClaim: claim } = claimed.granted;
  if (claim === null) return;
  const { directive, traceparent } = claimed.envelope;
  const attempt = claimed.attempt - 1;
  reportLost(spans, { directive, lane: claimed.lane, traceparent, model: modelOf(claimed), attempt, claim });
}

function contentOf(limit: ContentLimit, directive: Directive, { result }: Execution): Attributes {
  if (limit.bytes === 0) return {};
  const payload = result.ok ? result.payload : undefined;
  switch (directive.type) {
    case 'tool_exec':
      return {
        [ATTRIBUTE.toolArguments]: shown(limit, directive.arguments),
        [ATTRIBUTE.toolResult]: shown(limit, payload),
      };
    case 'llm_stream':
    case 'llm_generate': {
      const { context, system_prompt } = directive;
      return {
        [ATTRIBUTE.systemInstructions]: shown(limit, system_prompt),
        [ATTRIBUTE.inputMessages]: shown(limit, 'messages' in context ? context.messages : context),
        [ATTRIBUTE.outputMessages]: shown(limit, payload && [payload]),
      };
    }
    case 'llm_request':
      return {
        [ATTRIBUTE.inputMessages]: shown(limit, directive.body),
        [ATTRIBUTE.outputMessages]: shown(limit, payload && [payload]),
      };
    case 'llm_embed':
    case 'emit_tool_error':
    case 'emit_tool_result':
    case 'emit_request_error':
    // Of a user's own type.
    default:
      return {};
  }
}

function reportWaits(parts: Pick<AttemptParts, 'spans' | 'records'>, claimed: Claimed): void {
  const { envelope, lane, granted, pass, trace } = claimed;
  if (trace === null) return;
  const { directive, traceparent } = envelope;
  const until = trace.claimedAt;
  const from = until - Math.max(0, granted.now - granted.dueAt);
  const { fence, waits } = granted;
  if (pass !== null || isOrdered(waits))
    reportWait(parts.spans, { directive, lane, traceparent, name: fence, reasons: waits, from, until });
  if (fence === 1 && hasBegin(directive)) reportLater(parts, claimed, until).catch(() => {});
}

function hasBegin(directive: Directive): boolean {
  if (!DIRECTIVE_TYPES.includes(directive.type)) return false;
  return (
    (laterOf(directive as Parameters<typeof laterOf>[0])?.when ?? null) !== null ||
    onceFieldOf(directive as OnceFields) === 'debounce'
  );
}

/** Reports the span later, by the clock of this machine, as its other spans. */
async function reportLater(
  { spans, records }: Pick<AttemptParts, 'spans' | 'records'>,
  { envelope, lane, granted }: Claimed,
  claimedAt: number,
): Promise<void> {
  const { directive, traceparent } = envelope;
  const record = await records.journal.directive(directive.request_id, directive.id);
  if (!record?.begin || record.begin.at <= record.acceptedAt) return;
  const here = (at: number): number => at + claimedAt - granted.now;
  const [from, until] = [here(record.acceptedAt), here(record.begin.at)];
  reportWait(spans, { directive, lane, traceparent, name: 'later', reasons: ['later'], from, until });
}
