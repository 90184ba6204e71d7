/** A request of one directive as it looks from outside, written by hand.
 *  It must never need the service. */
import type { Evidence } from './evidence.ts';
import type { ToolExecution } from './executions.ts';
import {
  type AnswerRecord,
  createRequestHistory,
  type CancelRecord,
  type Fault,
  type SubmissionRecord,
} from './history.ts';
import type { PlannedDirective } from './plan.ts';
import type { TaskLine } from './task-log.ts';
import { AT, instant, TRACE } from './run-world.ts';
import type { WireDirective, WireResult, WireSignal } from './wire.ts';

function plannedCall(fields: Partial<PlannedDirective> = {}): PlannedDirective {
  return {
    id: 'a',
    body: {},
    kind: 'quick',
    expect: 'answer',
    effect: 'once',
    label: 'r/a',
    sum: 5,
    toolFailures: 0,
    maxRetries: 2,
    timeoutMs: null,
    deadlineMs: 60_000,
    model: null,
    ...fields,
  };
}

export function signal(sequence: number, type: string, fields: Partial<WireSignal> = {}): WireSignal {
  return {
    specversion: '1.0',
    id: `signal-${sequence}`,
    type,
    source: '/ai/tool',
    subject: 'r',
    time: instant(sequence),
    traceparent: TRACE,
    causationid: 'a',
    sequence,
    attempt: 1,
    data: { call_id: 'a' },
    ...fields,
  };
}

/** An end that is an error of this type. */
export function errorOf(type: string, details: Record<string, unknown> = {}): WireResult {
  return { ok: false, error: { type, message: '', details, retryable: false } };
}

export function execution(number: number, fields: Partial<ToolExecution> = {}): ToolExecution {
  return { execution: number, tool: 'once', key: 'k', label: 'r/a', pid: 1, at: AT + 150, ...fields };
}

export function submission(fields: Partial<SubmissionRecord> = {}): SubmissionRecord {
  return {
    purpose: 'submit',
    directives: [plannedCall()],
    traceparent: TRACE,
    api: '',
    sentAt: AT - 10,
    answeredAt: AT,
    status: 202,
    code: '',
    verdicts: new Map([['a', 'accepted']]),
    results: new Map(),
    ...fields,
  };
}

export function cancellation(
  status: 'cancelled' | 'requested' | 'ended',
  resultId: string | null = null,
): CancelRecord {
  const verdicts = new Map([['a', { status, resultId }]]);
  return { target: 'a', api: '', sentAt: AT + 90, answeredAt: AT + 100, status: 200, verdicts };
}

export interface Parts {
  readonly planned?: Partial<PlannedDirective>;
  readonly view?: Partial<WireDirective>;
  readonly signals?: readonly WireSignal[];
  readonly executions?: readonly ToolExecution[];
  readonly submissions?: readonly SubmissionRecord[];
  readonly cancels?: readonly CancelRecord[];
  readonly faults?: readonly Fault[];
  readonly seen?: readonly { sequence: number; id: string; connection: number }[];
  readonly single?: { readonly resultId: string };
  readonly tasks?: readonly TaskLine[];
  readonly answers?: readonly AnswerRecord[];
  readonly request?: Partial<NonNullable<Evidence['view']>> | null;
}

function ended(sequence: number, result: WireResult, fields: Partial<WireSignal> = {}): WireSignal {
  const metadata = { operation: 'tool_execute' };
  return signal(sequence, 'ai.tool.result', { data: { call_id: 'a', result, metadata }, ...fields });
}

export function succeeded(sequence = 2, answer: object = {}): WireSignal {
  const payload = JSON.stringify({ label: 'r/a', sum: 5, execution: 1, ...answer });
  return ended(sequence, { ok: true, payload });
}

export function failed(type: string, sequence = 2, fields: Partial<WireSignal> = {}): WireSignal {
  return ended(sequence, errorOf(type), fields);
}

/** Ended by the sweeper, after a minute. */
export function expired(details: Record<string, unknown>): WireSignal {
  return ended(2, errorOf('deadline_exceeded', details), { time: instant(601) });
}

/** Of one `once` call that was accepted, executed once, and succeeded. */
export function evidence(parts: Parts = {}): Evidence {
  const signals = parts.signals ?? [signal(1, 'ai.tool.started'), succeeded()];
  const history = createRequestHistory('r');
  history.submissions.push(...(parts.submissions ?? [submission()]));
  history.cancels.push(...(parts.cancels ?? []));
  history.seen.push(...(parts.seen ?? []));
  history.answers.push(...(parts.answers ?? []));
  const directive = {
    id: 'a',
    type: 'tool_exec',
    status: 'succeeded',
    attempts: 1,
    failures: 0,
    redeliveries: 0,
    accepted_at: instant(0),
    ended_at: instant(2),
    deadline_at: instant(600),
    ...parts.view,
  };
  const view = {
    request_id: 'r',
    status: 'closed' as const,
    sequence: signals.length,
    open: 0,
    closed_at: instant(2),
    directives: [directive],
    ...parts.request,
  };
  return {
    history,
    view: parts.request === null ? null : view,
    signals,
    executions: new Map([['a', parts.executions ?? [execution(1)]]]),
    tasks: new Map([['a', parts.tasks ?? []]]),
    faults: parts.faults ?? [],
    planned: new Map([['a', plannedCall(parts.planned)]]),
    accepted: new Set(['a']),
    possible: new Set(['a']),
    single: { id: 'a', resultId: signals.at(-1)?.id ?? null, ...parts.single },
  };
}
