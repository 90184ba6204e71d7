// The spans of a turn that was written: `turn {agent}`, and with the last one the run's own, `invoke_agent {agent}`.
// Must never be made of a turn that another engine wrote first.
import { ownId, tenantField } from '../contract/access/tenant.ts';
import type { RunView } from '../contract/run/run.ts';
import type { Signal } from '../contract/signal/signal.ts';
import { ATTRIBUTE, EVENT } from '../platform/telemetry/traces/semantic-names.ts';
import type { Attributes, SpanEvent, SpanPlace, SpanRecord } from '../platform/telemetry/traces/span.ts';
import { placeUnder, type SpanParent, traceparentOf } from '../platform/telemetry/traces/span-place.ts';
import { type Folded, isOver } from './turn/fold.ts';
import type { StoredRun } from './turn/run-store.ts';
import { shownReason } from './encryption/shown-run.ts';
import type { EmittedSignal, RunSpec } from './turn/transition.ts';
import type { Spans } from '../platform/telemetry/traces/spans.ts';

/** A turn that was written. */
export interface WrittenTurn {
  readonly run: StoredRun;
  readonly folded: Folded;
  /** Milliseconds since the epoch, with fractions. */
  readonly startedAt: number;
  readonly endedAt: number;
}

export function turnSpan(parent: SpanParent, { run, folded, startedAt, endedAt }: WrittenTurn): SpanRecord {
  const { requestId, version, agent, signals } = run;
  return {
    place: turnPlace(parent, requestId, version + 1),
    name: `turn ${agent}`,
    kind: 'internal',
    startedAt,
    endedAt,
    attributes: {
      [ATTRIBUTE.request]: ownId(requestId),
      ...tenantField(requestId, ATTRIBUTE.tenant),
      [ATTRIBUTE.agentName]: agent,
      ...originAttributes(run.spec.origin),
      [ATTRIBUTE.turn]: version + 1,
      [ATTRIBUTE.signalsRead]: signals.length,
      [ATTRIBUTE.directivesSent]: folded.directives.length,
    },
    events: [
      ...signals.flatMap((signal) => eventOf(shownOf(run, signal), startedAt)),
      ...folded.signals.flatMap(({ signal }) => eventOf(signal, endedAt)),
    ],
    error: null,
  };
}

/** The signal as the trace shows it; of an encrypted run its signals were opened for the turn. */
function shownOf({ seal }: StoredRun, signal: Signal): Signal | EmittedSignal {
  if (seal === null || signal.type !== 'agent.parent.exit') return signal;
  return { type: signal.type, data: { reason: shownReason(signal.data.reason, seal.keyId) } };
}

/** The event of a signal for a reader of the trace; spans of directives show the other signals. */
function eventOf({ type, data }: Signal | EmittedSignal, at: number): SpanEvent[] {
  const fields = data as Record<string, unknown>;
  const attributes = EVENT_ATTRIBUTES[type];
  if (attributes === undefined) return [];
  const shown = Object.entries(attributes).map(([field, name]) => [name, textOf(fields[field])] as const);
  return [{ name: type, at, attributes: Object.fromEntries(shown) }];
}

/** Signal → its fields, and the attributes that show them. Texts of users and models are content, and not among them. */
const EVENT_ATTRIBUTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'ai.request.input': { input_id: ATTRIBUTE.input },
  'ai.request.cancel_requested': {},
  'ai.tool.approval_requested': {
    call_id: ATTRIBUTE.call,
    tool_name: ATTRIBUTE.toolName,
    deadline_at: ATTRIBUTE.deadlineAt,
  },
  'ai.tool.approval_decided': { call_id: ATTRIBUTE.call, decision: ATTRIBUTE.decision },
  'agent.child.exit': { child_request_id: ATTRIBUTE.childRequest, status: ATTRIBUTE.runStatus },
  'agent.parent.exit': { reason: ATTRIBUTE.reason },
};

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export interface EndedRun {
  readonly run: StoredRun;
  readonly view: Omit<RunView, 'ended_at'>;
  /** Milliseconds since the epoch. */
  readonly endedAt: number;
}

/** An unreadable run may have ended before. */
export function isLastTurn({ endedAt }: StoredRun, { document }: Folded): boolean {
  return endedAt === null && isOver(document);
}

export function runSpan(parent: SpanParent, { run, view, endedAt }: EndedRun): SpanRecord {
  const { requestId, agent, spec, version } = run;
  const { status, usage, iterations, tool_calls: toolCalls, termination_reason: reason } = view;
  const attributes: Attributes = {
    [ATTRIBUTE.operation]: 'invoke_agent',
    [ATTRIBUTE.agentName]: agent,
    [ATTRIBUTE.conversation]: spec.conversation_id ?? undefined,
    [ATTRIBUTE.request]: ownId(requestId),
    ...tenantField(requestId, ATTRIBUTE.tenant),
    ...originAttributes(spec.origin),
    [ATTRIBUTE.runStatus]: status,
    [ATTRIBUTE.runReason]: reason ?? undefined,
    [ATTRIBUTE.runTurns]: version + 1,
    [ATTRIBUTE.runIterations]: iterations,
    [ATTRIBUTE.runToolCalls]: toolCalls,
    [ATTRIBUTE.runCost]: view.cost ?? undefined,
    [ATTRIBUTE.runAt]: run.begin === null ? undefined : new Date(run.begin.at).toISOString(),
    [ATTRIBUTE.priority]: spec.flow?.priority,
    [ATTRIBUTE.concurrencyLimit]: spec.flow?.concurrency?.limit,
    [ATTRIBUTE.rateMax]: spec.flow?.rate?.max,
    [ATTRIBUTE.ratePerMs]: spec.flow?.rate?.per_ms,
    [ATTRIBUTE.inputTokens]: usage.input_tokens,
    [ATTRIBUTE.outputTokens]: usage.output_tokens,
  };
  return {
    place: runPlace(parent, requestId),
    name: `invoke_agent ${agent}`,
    kind: 'internal',
    startedAt: Math.min(spec.started_at, endedAt),
    endedAt,
    attributes,
    events: status === 'cancelled' ? [{ name: EVENT.runCancelled, at: endedAt }] : [],
    error: status === 'completed' ? null : errorTypeOf(view),
  };
}

function originAttributes(origin: RunSpec['origin']): Attributes {
  if (origin === undefined) return {};
  return {
    [ATTRIBUTE.originRequest]: origin.request_id,
    [ATTRIBUTE.originKind]: origin.kind,
    [ATTRIBUTE.originTurn]: origin.turn,
  };
}

function errorTypeOf({ error, status }: Pick<RunView, 'error' | 'status'>): string {
  const type = (error as { type?: unknown } | null)?.type;
  return typeof type === 'string' ? type : status;
}

function runPlace(parent: SpanParent, requestId: string): SpanPlace {
  return placeUnder(parent, requestId, 'run');
}

/** `version`: the one that the turn writes. */
function turnPlace(parent: SpanParent, requestId: string, version: number): SpanPlace {
  return placeUnder(runPlace(parent, requestId), 'turn', version);
}

/** The context of a turn: what it causes continues it. */
export function turnContext(
  spans: Spans,
  { requestId, traceparent }: { requestId: string; traceparent: string },
  version: number,
): string {
  const parent = spans.under(traceparent);
  return parent === null ? traceparent : traceparentOf(turnPlace(parent, requestId, version));
}
