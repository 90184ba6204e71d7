/** The checker itself: a request that kept every promise passes, and each broken promise is reported.
 *  It must never need the service: the test writes its input by hand. */
import { describe, expect, test } from 'vitest';
import { archiveViolationsOf, type ArchivedObject } from './archive-rules.ts';
import { violationsOf } from './checker.ts';
import {
  cancellation,
  evidence,
  execution,
  expired,
  failed,
  type Parts,
  signal,
  submission,
  succeeded,
} from './directive-world.ts';
import type { Fault } from './history.ts';
import { listDifferences, listViolationsOf } from './list-rules.ts';
import { planRequest } from './plan.ts';
import { AT, instant } from './run-world.ts';
import type { WireListedRequest, WireSignal } from './wire.ts';

function unattempted(given: WireSignal): WireSignal {
  const { attempt, ...rest } = given;
  return attempt === undefined ? given : rest;
}

function retry(sequence: number, attempt: number, type = 'execution_error'): WireSignal {
  const data = { call_id: 'a', failures: attempt, error: { type } };
  return signal(sequence, 'directive.retry_scheduled', { attempt, data });
}

function waits(sequence: number, reason: string): WireSignal {
  return unattempted(signal(sequence, 'directive.waiting', { data: { call_id: 'a', reason } }));
}

const KILLED: Fault = { kind: 'worker killed', pid: 1, at: AT + 50, overAt: null };
const started = signal(1, 'ai.tool.started');
const UNKNOWN: Parts = {
  signals: [started, failed('outcome_unknown')],
  view: { status: 'failed', redeliveries: 1 },
};
const SECOND_TRY: Parts = {
  signals: [started, retry(2, 1), { ...succeeded(3, { execution: 2 }), attempt: 2 }],
  view: { failures: 1, attempts: 2 },
  executions: [execution(1), execution(2)],
};
const question = (sequence: number, number = 1): WireSignal =>
  signal(sequence, 'ai.tool.input_requested', { data: { call_id: 'a', input_id: `a.${number}` } });
const answer = (sequence: number, cause = 'answer'): WireSignal =>
  unattempted(signal(sequence, 'ai.tool.input_answered', { data: { call_id: 'a', input_id: 'a.1', cause } }));
const given = (n: number, status = 200) => ({ inputId: 'a.1', n, status });
const ASKED: Parts = {
  signals: [started, question(2), answer(3), { ...succeeded(4, { answer: '7' }), attempt: 2 }],
  view: { attempts: 2 },
  answers: [given(7), given(8, 409)],
};
const made = { what: 'made', taskId: 'r/a#1', at: AT } as const;
const TASK_LEFT: Parts = { ...UNKNOWN, tasks: [made, { ...made, what: 'asked' }], faults: [KILLED] };
const NOT_TAKEN_OVER: Parts = {
  planned: { deadlineMs: 60_000, effect: 'read' },
  signals: [started, expired({ status: 'running', attempts: 1 })],
  view: { status: 'failed' },
};

test('a request that kept every promise passes', () => {
  expect(violationsOf(evidence())).toEqual([]);
});

test.each<[string, Parts]>([
  ['a once call whose worker died', { ...UNKNOWN, faults: [KILLED] }],
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
    { planned: { effect: 'read', expect: 'unknown_tool' }, ...UNKNOWN, executions: [], faults: [KILLED] },
  ],
  [
    'a call that the tool failed, and answered at the second try',
    { planned: { toolFailures: 1 }, ...SECOND_TRY },
  ],
  [
    'a call that nobody took over while all workers were gone',
    { ...NOT_TAKEN_OVER, faults: [1, 2, 3].map((pid) => ({ ...KILLED, pid, overAt: AT + 50_000 })) },
  ],
  [
    'a call that was cancelled before it began',
    {
      signals: [unattempted(failed('cancelled', 1, { time: instant(0.95) }))],
      view: { status: 'failed', attempts: 0 },
      executions: [],
      cancels: [cancellation('cancelled')],
    },
  ],
  ['a call whose tool asked, and got the answer', ASKED],
  [
    'a call whose tool asked, and was declined in time',
    {
      ...ASKED,
      signals: [
        started,
        question(2),
        answer(3, 'deadline'),
        { ...succeeded(4, { answer: 'decline' }), attempt: 2 },
      ],
      answers: [],
    },
  ],
  ['a call whose worker died before it knew the task', { ...UNKNOWN, tasks: [made], faults: [KILLED] }],
  [
    'a call that waited for two reasons before it began',
    {
      signals: [waits(1, 'no_worker'), waits(2, 'server_down'), signal(3, 'ai.tool.started'), succeeded(4)],
    },
  ],
])('so does %s', (_name, parts) => {
  expect(violationsOf(evidence(parts))).toEqual([]);
});

describe('it reports', () => {
  test.each<[string, Parts, string]>([
    ['a lost request', { request: null }, 'accepted, and unknown: a'],
    ['an open request', { request: { status: 'open', open: 1 } }, 'not in time: the request is open'],
    ['a lost directive', { request: { directives: [] } }, 'a was accepted and is not there'],
    ['no end', { signals: [started] }, 'a: no terminal signal'],
    ['two ends', { signals: [started, succeeded(2), succeeded(3)] }, 'a: 2 terminal signals'],
    [
      'two starts',
      { signals: [started, signal(2, 'ai.tool.started'), succeeded(3)] },
      'a: 2 started signals',
    ],
    [
      'a reason to wait that is said twice',
      { signals: [waits(1, 'no_worker'), waits(2, 'no_worker'), signal(3, 'ai.tool.started'), succeeded(4)] },
      'a: said more than once why it waits: no_worker, no_worker',
    ],
    [
      'a pause that is logged between two that double their number',
      {
        signals: [
          started,
          unattempted(signal(2, 'directive.waiting', { data: { call_id: 'a', pauses: 3 } })),
          succeeded(3),
        ],
      },
      'a: a pause is logged that does not double the number of the one before',
    ],
    [
      'a call that may have happened, and never began',
      { ...UNKNOWN, signals: [failed('outcome_unknown', 1)], executions: [], faults: [KILLED] },
      'a: ended as outcome_unknown, and was never said to have started',
    ],
    [
      'a task that is known, and given up',
      TASK_LEFT,
      'a: its server kept it as a task and was asked for it, and it ended as outcome_unknown',
    ],
    [
      'a question that is asked twice',
      { ...ASKED, signals: [started, question(2), question(3), answer(4), succeeded(5)] },
      'a: a.1 was asked twice',
    ],
    [
      'a question that is answered twice',
      { ...ASKED, signals: [started, question(2), answer(3), answer(4), succeeded(5)] },
      'a: a.1 was answered twice',
    ],
    [
      'a question that is left open',
      { ...ASKED, signals: [started, question(2), succeeded(3)] },
      'a: a.1 was left open',
    ],
    [
      'two answers that were accepted',
      { ...ASKED, answers: [given(7), given(8)] },
      'a: two answers to a.1 were accepted',
    ],
    [
      'an answer that nobody has given',
      { ...ASKED, answers: [given(6)] },
      'a: its tool was answered 7, which nobody has said',
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
      NOT_TAKEN_OVER,
      'a: not in time: its worker was gone, and nobody took it over in 59900 ms with workers until its deadline',
    ],
    [
      'a call that was executed, and ended as if it had not been',
      {
        planned: { deadlineMs: 100 },
        signals: [started, failed('deadline_exceeded', 2, { time: instant(1.5) })],
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
      { ...SECOND_TRY, planned: { maxRetries: 0, toolFailures: 1 } },
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
      { signals: [started, { ...succeeded(), time: instant(1_000) }] },
      'a: not in time: ended 40000 ms after its deadline',
    ],
    [
      'another end for who asks for it alone',
      { single: { resultId: 'z' } },
      'a: asked for alone it ended with z, the log says signal-2',
    ],
    [
      'a takeover from a living worker',
      { planned: { effect: 'read' }, view: { redeliveries: 1 } },
      'a: not in time: redelivered, and no worker had died',
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

describe('the row of a request in the list', () => {
  const { view, signals } = evidence({
    signals: [started, failed('execution_error')],
    view: { status: 'failed' },
  });
  const row: WireListedRequest = {
    request_id: 'r',
    status: 'failed',
    closed_at: instant(2),
    directives: 1,
    open: 0,
    types: ['tool_exec'],
    error_types: ['execution_error'],
    waiting_for: [],
  };
  const wrong = (fields: Partial<WireListedRequest> | null): string[] =>
    view === null ? [] : listViolationsOf(view, signals, fields && { ...row, ...fields });

  test('has to say what the request says', () => {
    expect(wrong({})).toEqual([]);
    expect(wrong(null)).toEqual(['it is not in the list of requests']);
    expect(wrong({ status: 'open', open: 1, closed_at: null })).toHaveLength(3);
    expect(wrong({ error_types: [] })).toEqual(['the list lacks its error execution_error']);
    expect(wrong({ error_types: ['execution_error', 'timeout'] })).toHaveLength(1);
  });

  test('is there once, and goes with its request', () => {
    expect(listDifferences(['a', 'b'], new Set(['a', 'b']))).toEqual([]);
    expect(listDifferences(['a', 'a'], new Set(['a', 'b']))).toHaveLength(2);
    expect(listDifferences(['a'], new Set())).toHaveLength(1);
  });
});

describe('the archive', () => {
  const closed = [{ requestId: 'r', sequence: 2, lastSignalId: 's2' }];
  const object: ArchivedObject = { requestId: 'r', sequence: 2, signalIds: ['s1', 's2'], whole: true };
  const earlier: ArchivedObject = { ...object, sequence: 1, signalIds: ['s1'] };
  const wrong = (...objects: ArchivedObject[]): number =>
    archiveViolationsOf(closed, objects).get('r')?.length ?? 0;

  test('holds each closed request once as it closed last, whole', () => {
    expect(wrong(object)).toBe(0);
    expect(wrong(earlier, object)).toBe(0);
    expect(wrong()).toBe(1);
    expect(wrong(earlier)).toBe(1);
    expect(wrong(object, object)).toBe(1);
    expect(wrong({ ...object, signalIds: ['s1', 'other'] })).toBe(1);
    expect(wrong({ ...object, whole: false })).toBe(1);
    expect(wrong(object, { ...earlier, signalIds: [] })).toBe(1);
    expect(wrong(object, { ...object, sequence: 3, signalIds: ['s1', 's2', 's3'] })).toBe(1);
  });
});
