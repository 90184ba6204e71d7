/** The checker itself: a request that kept every promise passes, and each broken promise is reported.
 *  It must never need the service: the test writes its input by hand. */
import { describe, expect, test } from 'vitest';
import { violationsOf } from './checker.ts';
import type { Evidence } from './evidence.ts';
import type { ToolExecution } from './executions.ts';
import { createRequestHistory, type CancelRecord, type Fault, type SubmissionRecord } from './history.ts';
import { planRequest, type PlannedDirective } from './plan.ts';
import type { WireDirective, WireResult, WireSignal } from './wire.ts';

const AT = Date.parse('2026-01-01T00:00:00.000Z');
const TRACE = '00-10000000000000000000000000000001-1000000000000001-01';

function instant(afterMs: number): string {
  return new Date(AT + afterMs).toISOString();
}

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

function signal(sequence: number, type: string, fields: Partial<WireSignal> = {}): WireSignal {
  return {
    specversion: '1.0',
    id: `signal-${sequence}`,
    type,
    source: '/ai/tool',
    subject: 'r',
    time: instant(sequence * 100),
    traceparent: TRACE,
    causationid: 'a',
    sequence,
    attempt: 1,
    data: { call_id: 'a' },
    ...fields,
  };
}

function ended(sequence: number, result: WireResult, fields: Partial<WireSignal> = {}): WireSignal {
  const metadata = { operation: 'tool_execute' };
  return signal(sequence, 'ai.tool.result', { data: { call_id: 'a', result, metadata }, ...fields });
}

function succeeded(sequence = 2, answer: object = {}): WireSignal {
  const payload = JSON.stringify({ label: 'r/a', sum: 5, execution: 1, ...answer });
  return ended(sequence, { ok: true, payload });
}

function failed(type: string, sequence = 2, fields: Partial<WireSignal> = {}): WireSignal {
  return ended(sequence, { ok: false, error: { type, message: '', details: {}, retryable: false } }, fields);
}

/** Ended by the sweeper, after a minute. */
function expired(details: Record<string, unknown>): WireSignal {
  const error = { type: 'deadline_exceeded', message: '', details, retryable: false };
  return ended(2, { ok: false, error }, { time: instant(60_100) });
}

function unattempted(given: WireSignal): WireSignal {
  const { attempt, ...rest } = given;
  return attempt === undefined ? given : rest;
}

function retry(sequence: number, attempt: number, type = 'execution_error'): WireSignal {
  const data = { call_id: 'a', failures: attempt, error: { type } };
  return signal(sequence, 'directive.retry_scheduled', { attempt, data });
}

function execution(number: number, fields: Partial<ToolExecution> = {}): ToolExecution {
  return { execution: number, tool: 'once', key: 'k', label: 'r/a', pid: 1, at: AT + 150, ...fields };
}

function submission(fields: Partial<SubmissionRecord> = {}): SubmissionRecord {
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

function cancellation(
  status: 'cancelled' | 'requested' | 'ended',
  resultId: string | null = null,
): CancelRecord {
  const verdicts = new Map([['a', { status, resultId }]]);
  return { target: 'a', api: '', sentAt: AT + 90, answeredAt: AT + 100, status: 200, verdicts };
}

interface Parts {
  readonly planned?: Partial<PlannedDirective>;
  readonly view?: Partial<WireDirective>;
  readonly signals?: readonly WireSignal[];
  readonly executions?: readonly ToolExecution[];
  readonly submissions?: readonly SubmissionRecord[];
  readonly cancels?: readonly CancelRecord[];
  readonly faults?: readonly Fault[];
  readonly seen?: readonly { sequence: number; id: string; connection: number }[];
  readonly single?: { readonly resultId: string };
  readonly request?: Partial<NonNullable<Evidence['view']>> | null;
}

/** Of one `once` call that was accepted, executed once, and succeeded. */
function evidence(parts: Parts = {}): Evidence {
  const signals = parts.signals ?? [signal(1, 'ai.tool.started'), succeeded()];
  const history = createRequestHistory('r');
  history.submissions.push(...(parts.submissions ?? [submission()]));
  history.cancels.push(...(parts.cancels ?? []));
  history.seen.push(...(parts.seen ?? []));
  const directive = {
    id: 'a',
    type: 'tool_exec',
    status: 'succeeded',
    attempts: 1,
    failures: 0,
    redeliveries: 0,
    accepted_at: instant(0),
    ended_at: instant(200),
    deadline_at: instant(60_000),
    ...parts.view,
  };
  const view = {
    request_id: 'r',
    status: 'closed' as const,
    sequence: signals.length,
    open: 0,
    closed_at: instant(200),
    directives: [directive],
    ...parts.request,
  };
  return {
    history,
    view: parts.request === null ? null : view,
    signals,
    executions: new Map([['a', parts.executions ?? [execution(1)]]]),
    faults: parts.faults ?? [],
    planned: new Map([['a', plannedCall(parts.planned)]]),
    accepted: new Set(['a']),
    possible: new Set(['a']),
    single: { id: 'a', resultId: signals.at(-1)?.id ?? null, ...parts.single },
  };
}

const KILLED: Fault = { kind: 'worker killed', pid: 1, at: AT + 50, overAt: null };
const started = signal(1, 'ai.tool.started');

test('a request that kept every promise passes', () => {
  expect(violationsOf(evidence())).toEqual([]);
});

test.each<[string, Parts]>([
  [
    'a once call whose worker died',
    {
      signals: [started, failed('outcome_unknown')],
      view: { status: 'failed', redeliveries: 1 },
      faults: [KILLED],
    },
  ],
  [
    'a call of which four attempts and two records of its end lost their worker',
    {
      planned: { effect: 'read' },
      signals: [started, { ...failed('worker_lost'), attempt: 5 }],
      view: { status: 'failed', redeliveries: 5, attempts: 5 },
      executions: [1, 2, 3, 4].map((number) => execution(number)),
      faults: [KILLED],
    },
  ],
  [
    'a call of a tool that nobody has, whose worker died over it',
    {
      planned: { effect: 'read', expect: 'unknown_tool' },
      signals: [started, failed('outcome_unknown')],
      view: { status: 'failed', redeliveries: 1 },
      executions: [],
      faults: [KILLED],
    },
  ],
  [
    'a call that the tool failed, and answered at the second try',
    {
      planned: { toolFailures: 1 },
      signals: [started, retry(2, 1), { ...succeeded(3, { execution: 2 }), attempt: 2 }],
      view: { failures: 1, attempts: 2 },
      executions: [execution(1), execution(2)],
    },
  ],
  [
    'a call that nobody took over while all workers were gone',
    {
      planned: { deadlineMs: 60_000, effect: 'read' },
      signals: [started, expired({ status: 'running', attempts: 1 })],
      view: { status: 'failed' },
      faults: [1, 2, 3].map((pid) => ({ ...KILLED, pid, overAt: AT + 50_000 })),
    },
  ],
  [
    'a call that was cancelled before it began',
    {
      signals: [unattempted(failed('cancelled', 1, { time: instant(95) }))],
      view: { status: 'failed', attempts: 0 },
      executions: [],
      cancels: [cancellation('cancelled')],
    },
  ],
])('so does %s', (_name, parts) => {
  expect(violationsOf(evidence(parts))).toEqual([]);
});

describe('it reports', () => {
  test.each<[string, Parts, string]>([
    ['a lost request', { request: null }, 'accepted, and unknown: a'],
    ['an open request', { request: { status: 'open', open: 1 } }, 'the request is open'],
    ['a lost directive', { request: { directives: [] } }, 'a was accepted and is not there'],
    ['no end', { signals: [started] }, 'a: no terminal signal'],
    ['two ends', { signals: [started, succeeded(2), succeeded(3)] }, 'a: 2 terminal signals'],
    [
      'two starts',
      { signals: [started, signal(2, 'ai.tool.started'), succeeded(3)] },
      'a: 2 started signals',
    ],
    ['a gap', { signals: [started, succeeded(3)] }, 'signal 2 of the log has the sequence 3'],
    ['one id twice', { signals: [started, { ...succeeded(), id: started.id }] }, 'two signals have one id'],
    [
      'a word after the end',
      { signals: [started, succeeded(2), signal(3, 'ai.tool.progress')] },
      'a: ai.tool.progress after the terminal signal',
    ],
    [
      'no trace',
      { signals: [started, { ...succeeded(), traceparent: '' }] },
      'signal 2 (ai.tool.result) has no valid traceparent',
    ],
    [
      'no cause',
      { signals: [started, succeeded(), { ...signal(3, 'ai.tool.progress'), causationid: 'z', data: {} }] },
      'signal 3 (ai.tool.progress) is caused by z',
    ],
    [
      'a second run of a once tool',
      { executions: [execution(1), execution(2)] },
      'a: a once tool was executed 2 times, 0 retries were due',
    ],
    [
      'a call whose worker was gone, and that nobody took over',
      {
        planned: { deadlineMs: 60_000, effect: 'read' },
        signals: [started, expired({ status: 'running', attempts: 1 })],
        view: { status: 'failed' },
      },
      'a: its worker was gone, and nobody took it over in 59900 ms with workers until its deadline',
    ],
    [
      'a call that was executed, and ended as if it had not been',
      {
        planned: { deadlineMs: 100 },
        signals: [started, failed('deadline_exceeded', 2, { time: instant(150) })],
        view: { status: 'failed' },
      },
      'a: executed 1 times, and ended as deadline_exceeded without a word that it may have happened',
    ],
    [
      'more runs than the budget',
      { planned: { effect: 'read' }, executions: [execution(1), execution(2)] },
      'a: 2 executions, the budget is 1 (0 failures, 0 redeliveries, 0 stops)',
    ],
    [
      'more runs than redeliveries are allowed, however many there were',
      {
        planned: { effect: 'read' },
        signals: [started, failed('worker_lost')],
        view: { status: 'failed', redeliveries: 5 },
        executions: [1, 2, 3, 4, 5].map((number) => execution(number)),
        faults: [KILLED],
      },
      'a: 5 executions, the budget is 4 (0 failures, 5 redeliveries, 0 stops)',
    ],
    [
      'more retries than asked for',
      {
        planned: { maxRetries: 0, toolFailures: 1 },
        signals: [started, retry(2, 1), { ...succeeded(3, { execution: 2 }), attempt: 2 }],
        view: { failures: 1, attempts: 2 },
        executions: [execution(1), execution(2)],
      },
      'a: 1 retries of 0',
    ],
    [
      'a result of another call',
      { signals: [started, succeeded(2, { label: 'r/b' })] },
      'a: its result is {"label":"r/b","sum":5}, expected {"label":"r/a","sum":5}',
    ],
    ['a success without an execution', { executions: [] }, 'a: execution 1 was not counted'],
    [
      'an attempt that spoke after it was taken over',
      {
        planned: { effect: 'read' },
        signals: [started, signal(2, 'ai.tool.progress', { attempt: 2 }), { ...succeeded(3), attempt: 1 }],
        view: { redeliveries: 1, attempts: 2 },
        faults: [KILLED],
      },
      'a: attempts speak out of turn: 1 2 1',
    ],
    [
      'an execution after the acknowledgement of a cancellation',
      {
        signals: [failed('cancelled', 1)],
        view: { status: 'failed' },
        cancels: [cancellation('cancelled')],
      },
      'a: executed 50 ms after it was said to be cancelled',
    ],
    [
      'a cancellation that was not asked for',
      { signals: [started, failed('cancelled')], view: { status: 'failed' } },
      'a: ended as cancelled, and nobody had cancelled it',
    ],
    [
      'a deadline that came too early',
      { signals: [started, failed('deadline_exceeded')], view: { status: 'failed' } },
      'a: ended as deadline_exceeded, 59800 ms before its deadline',
    ],
    [
      'an end long after the deadline',
      { signals: [started, { ...succeeded(), time: instant(100_000) }] },
      'a: ended 40000 ms after its deadline',
    ],
    [
      'another end for who asks for it alone',
      { single: { resultId: 'z' } },
      'a: asked for alone it ended with z, the log says signal-2',
    ],
    [
      'a takeover from a living worker',
      { planned: { effect: 'read' }, view: { redeliveries: 1 } },
      'a: redelivered, and no worker had died',
    ],
    [
      'a repeat that was accepted again',
      { submissions: [submission(), submission({ purpose: 'repeat' })] },
      'a: accepted 2 times',
    ],
    [
      'a conflict that was accepted',
      {
        submissions: [submission(), submission({ purpose: 'conflict', directives: [], verdicts: new Map() })],
      },
      'conflict was answered 202 ',
    ],
    [
      'a live reader that missed a signal',
      { seen: [{ sequence: 2, id: 'signal-2', connection: 1 }] },
      'the live reader got 2 in the place of 1',
    ],
  ])('%s', (_name, parts, sentence) => {
    expect(violationsOf(evidence(parts))).toContain(sentence);
  });
});

test('the same seed plans the same requests, another seed plans others', () => {
  const plans = (seed: string) => JSON.stringify([1, 2, 3].map((number) => planRequest(seed, number)));
  expect(plans('one')).toBe(plans('one'));
  expect(plans('one')).not.toBe(plans('two'));
});
