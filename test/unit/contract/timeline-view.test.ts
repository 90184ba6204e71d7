/** The timeline of a request, from its trace alone.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import type {
  RequestTrace,
  TracedAttempt,
  TracedDirective,
  TracedEvent,
} from '../../../src/contract/request/request-trace.ts';
import { requestTimelineSchema, type TimelineWait } from '../../../src/contract/request/request-timeline.ts';
import { timelineOf } from '../../../src/contract/request/timeline-view.ts';

/** Seconds after the beginning. */
function at(seconds: number): string {
  return new Date(Date.UTC(2026, 2, 1, 10) + seconds * 1_000).toISOString();
}

const attempt = (n: number, more: Partial<TracedAttempt> = {}): TracedAttempt => ({
  attempt: n,
  due_at: at(0),
  claimed_at: at(1),
  first_output_at: null,
  ended_at: at(2),
  outcome: 'succeeded',
  reason: null,
  delay_ms: null,
  redelivered: false,
  model: null,
  ...more,
});

const event = (seconds: number, type: string, more: Partial<TracedEvent> = {}): TracedEvent => ({
  at: at(seconds),
  type,
  message: '',
  until: null,
  ...more,
});

const directive = (more: Partial<TracedDirective> = {}): TracedDirective => ({
  id: 'd',
  type: 'tool_exec',
  name: 'files.read',
  lane: 'tool.files',
  status: 'succeeded',
  turn: null,
  accepted_at: at(0),
  ended_at: at(9),
  deadline_at: at(99),
  error: null,
  attempts: [],
  attempts_left_out: 0,
  events: [],
  ...more,
});

const trace = (directives: TracedDirective[], more: Partial<RequestTrace> = {}): RequestTrace => ({
  request_id: 'r',
  status: 'open',
  created_at: at(0),
  closed_at: null,
  read_at: at(50),
  directives,
  directives_left_out: 0,
  events: [],
  signals_left_out: 0,
  ...more,
});

const second = (instant: string | null): string =>
  instant === null ? '?' : String((Date.parse(instant) - Date.parse(at(0))) / 1_000);

/** `<kind> <from>-<until> <why>`, `open` for what goes on. */
function text({ kind, from, until, open, why }: TimelineWait): string {
  return `${kind} ${second(from)}-${open ? 'open' : second(until)}${why === null ? '' : ` ${why}`}`;
}

function waits(of: TracedDirective): string[] | undefined {
  const timeline = timelineOf(trace([of]));
  expect(requestTimelineSchema.parse(timeline)).toEqual(timeline);
  return timeline.directives[0]?.waits.map(text);
}

test('a retry waits in its lane, then for its delay, then in its lane again', () => {
  const first = attempt(1, { outcome: 'retry', reason: 'timeout', delay_ms: 2_000 });
  const second_ = attempt(2, { due_at: at(4), claimed_at: at(5), ended_at: at(9) });
  expect(waits(directive({ attempts: [first, second_] }))).toEqual([
    'queue 0-1',
    'backoff 2-4 timeout',
    'queue 4-5',
  ]);
});

test('after a lost worker it waits for the next one, which may not have come', () => {
  const lost = attempt(1, { outcome: 'worker_lost', reason: 'worker_lost', ended_at: at(7) });
  const next = attempt(2, { due_at: at(7), claimed_at: at(8), redelivered: true });
  expect(waits(directive({ attempts: [lost, next] }))).toEqual(['queue 0-1', 'queue 7-8 worker_lost']);
  expect(waits(directive({ status: 'running', ended_at: null, attempts: [lost] }))).toEqual([
    'queue 0-1',
    'queue 7-open worker_lost',
  ]);
});

test('a lane that is held back is paused or blocked from the signal that says so', () => {
  const held = event(3, 'directive.waiting', { reason: 'rate_limited', message: 'slow down', until: at(20) });
  const down = event(4, 'directive.waiting', { reason: 'server_down', message: 'is down' });
  const open = { status: 'accepted', ended_at: null } as const;
  expect(waits(directive({ ...open, events: [held, down] }))).toEqual([
    'queue 0-3',
    'paused 3-4 rate_limited',
    'blocked 4-open server_down',
  ]);
  const paused = attempt(1, { outcome: 'paused', reason: 'rate_limited', delay_ms: 5_000 });
  expect(waits(directive({ status: 'waiting', ended_at: null, attempts: [paused] }))).toEqual([
    'queue 0-1',
    'paused 2-7 rate_limited',
    'queue 7-open',
  ]);
});

test('what ended without a claim waited to its end', () => {
  expect(waits(directive({ status: 'failed', error: 'unknown_tool', ended_at: at(0) }))).toEqual([]);
  expect(waits(directive({ status: 'failed', error: 'deadline_exceeded' }))).toEqual(['queue 0-9']);
});

test('an instant that nobody has kept is unknown, and nothing is put in its place', () => {
  const unknown = attempt(1, { claimed_at: null, ended_at: null, outcome: 'unknown' });
  const next = attempt(2, { due_at: null, claimed_at: at(5) });
  expect(waits(directive({ attempts: [unknown, next] }))).toEqual(['queue 0-?']);
  const [only] = timelineOf(trace([directive({ attempts: [unknown, next] })])).directives;
  expect(only?.attempts).toMatchObject([
    { n: 1, claimed_at: null, ended_at: null, outcome: 'unknown' },
    { n: 2, claimed_at: at(5) },
  ]);
});

test('questions that overlap are one wait, until the last answer', () => {
  const asked = (seconds: number) => event(seconds, 'ai.tool.input_requested', { until: at(60) });
  const answered = (seconds: number) => event(seconds, 'ai.tool.input_answered', { message: 'accept' });
  const events = [asked(2), asked(2), answered(3), answered(5), asked(6)];
  const running = attempt(1, { outcome: 'running', ended_at: null });
  expect(waits(directive({ status: 'running', ended_at: null, attempts: [running], events }))).toEqual([
    'queue 0-1',
    'question 2-5 accept',
    'question 6-open',
  ]);
});

test('an approval belongs to its directive, or to a call without one, and ends by a decision or its deadline', () => {
  const asked = (id: string, until: number) =>
    event(1, 'ai.tool.approval_requested', { call_id: id, message: 'mail.send', until: at(until) });
  const decided = event(4, 'ai.tool.approval_decided', { call_id: 'd', message: 'approve' });
  const ran = directive({
    accepted_at: at(4),
    attempts: [attempt(1, { due_at: at(4), claimed_at: at(5) })],
    events: [asked('d', 60), decided],
  });
  expect(waits(ran)).toEqual(['approval 1-4 approve', 'queue 4-5']);
  const { calls } = timelineOf(trace([], { events: [asked('late', 40), asked('open', 60)] }));
  expect(calls.map(({ call_id: id, name, waits: of }) => [id, name, of.map(text)])).toEqual([
    ['late', 'mail.send', ['approval 1-? expired']],
    ['open', 'mail.send', ['approval 1-open']],
  ]);
});

test('spans beyond the most of one answer are counted', () => {
  const of = directive({ attempts: [attempt(1)] });
  const { directives, spans_left_out: leftOut } = timelineOf(trace([of, { ...of, id: 'e' }]), 3);
  expect(directives.map(({ attempts, waits: each }) => attempts.length + each.length)).toEqual([2, 1]);
  expect(leftOut).toBe(1);
});

test('children are links', () => {
  const run = {
    agent: 'lead',
    status: 'running',
    termination_reason: null,
    parent_request_id: null,
    turns: [{ turn: 1, started_at: at(0), ended_at: at(1), events: [] }],
    turns_left_out: 0,
    children: [{ tag: 'help', request_id: 'r.c1', status: 'running', turn: 1 }],
  } as const;
  const events = [event(8, 'agent.child.exit', { message: 'help completed' })];
  const timeline = timelineOf(trace([], { run: run as unknown as RequestTrace['run'], events }));
  expect(timeline.children).toEqual([
    {
      ...run.children[0],
      timeline: '/v1/requests/r.c1/timeline',
      request: '/v1/requests/r.c1',
      started_at: at(1),
      ended_at: at(8),
    },
  ]);
  expect(timeline.run?.turns).toEqual([{ turn: 1, started_at: at(0), ended_at: at(1) }]);
});

test('a wait for a limit or a turn begins when it could have begun, not when a signal says so', () => {
  const limit = event(5, 'directive.waiting', { reason: 'limit', message: 'account-42, 1 of 1 is running' });
  const turn = event(7, 'directive.waiting', { reason: 'turn', message: '2 are before it' });
  const begun = [attempt(1, { due_at: at(1), claimed_at: at(30), ended_at: at(31) })];
  const [drawn] = timelineOf(
    trace([directive({ events: [limit, turn], attempts: begun, ended_at: at(31) })]),
  ).directives;
  const [first, second, ...more] = drawn?.waits ?? [];
  expect(first).toMatchObject({ kind: 'paused', from: at(1), until: at(7), why: 'limit' });
  expect(second).toMatchObject({ kind: 'paused', from: at(7), until: at(30), why: 'turn' });
  expect(more).toEqual([]);
});
