/** The pure parts of the page of a request: rows, places in time, conversation, search, copies.
 *  It must never need a browser. */
import { expect, test } from 'vitest';
import type { RequestTimeline } from '../../src/contract/request/request-timeline.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';
import { createConversation } from '../pages/request/conversation.ts';
import { copiesOf, shell } from '../pages/request/copies.ts';
import { labelPlace } from '../pages/request/label-place.ts';
import { createMatches } from '../pages/request/signal-gist.ts';
import { isTrouble, rowText, timelineRows } from '../pages/request/timeline-rows.ts';
import {
  busyTimes,
  percentOf,
  ticksOf,
  timeScale,
  viewOf,
  viewText,
  WHOLE,
  zoomed,
} from '../pages/request/time-scale.ts';

const START = Date.UTC(2026, 2, 1, 10);
const at = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();

const attempt = (n: number, from: number | null, until: number | null, more: object = {}) => ({
  n,
  claimed_at: from === null ? null : at(from),
  first_output_at: null,
  ended_at: until === null ? null : at(until),
  outcome: 'succeeded',
  reason: null,
  redelivered: false,
  model: null,
  ...more,
});

function timelineWith(directives: readonly object[], more: object = {}): RequestTimeline {
  const facts = {
    lane: null,
    turn: null,
    deadline_at: at(900),
    error: null,
    attempts_left_out: 0,
    waits: [],
  };
  return {
    request_id: 'r',
    status: 'open',
    created_at: at(0),
    closed_at: null,
    read_at: at(20),
    directives: directives.map((each) => ({ ...facts, ...each })),
    calls: [],
    children: [],
    directives_left_out: 0,
    signals_left_out: 0,
    spans_left_out: 0,
    ...more,
  } as unknown as RequestTimeline;
}

const tool = (id: string, from: number, more: object = {}) => ({
  id,
  type: 'tool_exec',
  name: 'files.read',
  status: 'succeeded',
  accepted_at: at(from),
  ended_at: at(from + 2),
  attempts: [attempt(1, from, from + 2)],
  ...more,
});

const rowsOf = (timeline: RequestTimeline, children: RequestTimeline[] = []) =>
  timelineRows({ timeline, children: new Map(children.map((each) => [each.request_id, each])) });

test('a lost worker is said, and is trouble only until another has taken over', () => {
  const lost = attempt(1, 1, 2, { outcome: 'worker_lost', reason: 'worker_lost' });
  const wait = { kind: 'queue', from: at(2), until: at(4), open: false, why: 'worker_lost', due_at: null };
  const told = (attempts: readonly object[]) =>
    rowsOf(timelineWith([tool('a', 1, { attempts, waits: [wait] })]))
      .map((row) => [row.label, isTrouble(row)])
      .flat();
  expect(told([lost, attempt(2, 4, 5)])).toEqual(['2.0 s · 2 attempts · worker lost, taken over', false]);
  expect(told([lost])).toEqual(['2.0 s · worker lost', true]);
  const failed = attempt(2, 4, 5, { outcome: 'retry', reason: 'timeout' });
  expect(told([lost, failed, attempt(3, 6, 7)])[1]).toBe(true);
});

test('a row has its waits and attempts in their order, and says them', () => {
  const failed = attempt(1, 1, 2, { outcome: 'retry', reason: 'timeout' });
  const backoff = { kind: 'backoff', from: at(2), until: at(4), open: false, why: 'timeout', due_at: null };
  const [row] = rowsOf(
    timelineWith([tool('a', 1, { attempts: [failed, attempt(2, 4, 5)], waits: [backoff] })]),
  );
  expect(row?.segments.map(({ form }) => form)).toEqual(['failed', 'backoff', 'tool']);
  expect(row?.label).toBe('2.0 s · 2 attempts');
  expect(row && rowText(row)).toBe(
    'files.read, succeeded, 2.0 s · 2 attempts: attempt 1 retry: timeout 1.0 s, backoff 2.0 s (timeout), attempt 2 succeeded 1.0 s',
  );
});

test('a model thinks until its first output; an edge that nobody has kept has no instant', () => {
  const model = { type: 'llm_stream', status: 'running', ended_at: null };
  const open = attempt(1, 1, null, { outcome: 'running', first_output_at: at(3) });
  const unknown = attempt(1, 1, null, { outcome: 'unknown' });
  const [first, second] = rowsOf(
    timelineWith([tool('a', 1, { ...model, attempts: [open] }), tool('b', 2, { attempts: [unknown] })]),
  );
  expect(first?.segments.map(({ form, isOpen }) => [form, isOpen])).toEqual([
    ['think', false],
    ['model', true],
  ]);
  expect(second?.segments).toMatchObject([{ form: 'tool', until: null, isOpen: false }]);
});

test('what begins later says when, is no bar into the future, and counts what it took from there', () => {
  const waits = [{ kind: 'later', from: at(0), until: at(3_600), open: true, why: null, due_at: at(3_600) }];
  const told = (more: object) => rowsOf(timelineWith([tool('a', 0, more)]))[0];
  const open = told({ status: 'waiting', ended_at: null, attempts: [], waits });
  expect(open?.label).toMatch(/^begins at /);
  expect(open?.segments).toMatchObject([{ form: 'later', until: null, isOpen: true }]);
  const ended = told({
    ended_at: at(3_602),
    attempts: [attempt(1, 3_600, 3_602)],
    waits: waits.map((wait) => ({ ...wait, open: false })),
  });
  expect(ended?.label).toBe('2.0 s');
});

test('an open child has its rows below it, one level deeper', () => {
  const child = {
    tag: 'help',
    request_id: 'c',
    status: 'running',
    turn: 1,
    started_at: at(2),
    ended_at: null,
    timeline: '',
    request: '',
  };
  const parent = timelineWith([tool('a', 1)], { children: [child] });
  expect(rowsOf(parent).map(({ key, level }) => [key, level])).toEqual([
    ['r/a', 1],
    ['r/child/c', 1],
  ]);
  const below = timelineWith([tool('x', 3)], { request_id: 'c' });
  expect(rowsOf(parent, [below]).map(({ key, level }) => [key, level])).toEqual([
    ['r/a', 1],
    ['r/child/c', 1],
    ['c/x', 2],
  ]);
});

test('idle time is folded, order is kept, and an instant comes back from its place', () => {
  const rows = rowsOf(timelineWith([tool('a', 0), tool('b', 3_602)]));
  const busy = busyTimes(rows, START);
  const scale = timeScale([START, START + 3_604_000], busy);
  expect(scale.folds).toEqual([[START + 2_000, START + 3_602_000]]);
  const places = [0, 1, 2, 1_000, 3_602, 3_603, 3_604].map((seconds) => scale.at(START + seconds * 1_000));
  expect(places).toEqual(places.toSorted((left, right) => left - right));
  expect(places[2]).toBeCloseTo(0.49);
  expect(places.at(-1)).toBeCloseTo(1);
  expect(scale.instantAt(places[1] ?? 0)).toBeCloseTo(START + 1_000, 0);
  const plain = timeScale([START, START + 3_604_000], null);
  expect(plain.at(START + 1_802_000)).toBeCloseTo(0.5);
});

test('a zoom is kept as times in the URL, and nonsense there shows everything', () => {
  const scale = timeScale([START, START + 10_000], null);
  const view = zoomed(WHOLE, 0.5);
  expect(viewText(scale, view)).toBe('2500-7500');
  expect(viewOf(scale, '2500-7500')).toEqual(view);
  expect(percentOf(scale, view, START + 5_000)).toBeCloseTo(50);
  for (const text of ['', 'x', '7-3', '5-5', '99999999999999999-1'])
    expect(viewOf(scale, text)).toEqual(WHOLE);
  expect(viewText(scale, zoomed(view, 4))).toBe('');
  expect(ticksOf(scale, WHOLE, 5).map(({ text }) => text)).toEqual([
    '0 ms',
    '2.0 s',
    '4.0 s',
    '6.0 s',
    '8.0 s',
    '10.0 s',
  ]);
});

test('the words of a row stand beside its bars or under them, never over an end', () => {
  const words = { letters: 40, track: 700 };
  expect(labelPlace({ ...words, start: 0, end: 50 })).toEqual({ side: 'right', left: 50.6 });
  expect(labelPlace({ ...words, start: 60, end: 99 })).toEqual({ side: 'left', right: 40.6 });
  for (const [start, end] of [
    [0, 100],
    [30, 79],
    [-2, 102],
  ] as const)
    expect(labelPlace({ ...words, start, end }).side).toBe('below');
  // The same bar on a phone has no room beside it.
  expect(labelPlace({ letters: 40, track: 240, start: 0, end: 50 })).toEqual({ side: 'below', left: 0 });
});

let sequence = 0;
const signal = (type: string, data: object, attemptNumber?: number): Signal => {
  sequence += 1;
  return { type, sequence, time: at(sequence), attempt: attemptNumber, data } as unknown as Signal;
};

const delta = (text: string, n: number) =>
  signal('ai.llm.delta', { call_id: 'm', delta: text, chunk_type: 'content', metadata: {} }, n);

test('text of an attempt that was given up is kept apart, and the cost stands beside its step', () => {
  const conversation = createConversation();
  const turn = { text: 'new text', thinking: '', tool_calls: [] };
  const end = {
    call_id: 'm',
    result: { ok: true, payload: turn, effects: [] },
    usage: { input_tokens: 7, output_tokens: 2, total_tokens: 9 },
    model: 'p:m',
    metadata: { cost: 0.01 },
  };
  const log = [delta('old', 1), delta('new ', 2), delta('text', 2), signal('ai.llm.response', end, 2)];
  conversation.take(log, 0);
  conversation.take(log, log.length);
  expect(conversation.entries).toMatchObject([
    {
      kind: 'step',
      call: { content: 'new text' },
      voids: [{ content: 'old', attempt: 1 }],
      inputTokens: 7,
      outputTokens: 2,
      cost: 0.01,
      model: 'p:m',
    },
  ]);
});

test('a call is one entry from its approval to its result', () => {
  const conversation = createConversation();
  const call = { call_id: 't', tool_name: 'mail.send' };
  const states: unknown[] = [];
  const log: Signal[] = [];
  for (const each of [
    signal('ai.tool.approval_requested', { ...call, arguments: { to: 'a' }, metadata: {} }),
    signal('ai.tool.approval_decided', {
      call_id: 't',
      decision: 'approve',
      by: 'Ana',
      arguments: { to: 'b' },
    }),
    signal('ai.tool.started', { ...call, arguments: { to: 'b' }, metadata: {} }),
    signal('ai.tool.result', { ...call, result: { ok: true, payload: 'sent', effects: [] }, metadata: {} }),
  ]) {
    log.push(each);
    conversation.take(log, log.length - 1);
    const [entry] = conversation.entries;
    if (entry?.kind === 'tool')
      states.push([entry.isHeld, entry.decision, entry.arguments, entry.result?.payload]);
  }
  const decided = 'approved with other arguments by Ana';
  expect(states).toEqual([
    [true, null, { to: 'a' }, undefined],
    [false, decided, { to: 'b' }, undefined],
    [false, decided, { to: 'b' }, undefined],
    [false, decided, { to: 'b' }, 'sent'],
  ]);
  expect(conversation.entries).toHaveLength(1);
});

test('a search finds what comes later, too', () => {
  const log = [delta('One', 1)];
  const matches = createMatches('one');
  matches.look(log);
  log.push(delta('two', 1), signal('ai.tool.started', { call_id: 'zone', tool_name: 'x', arguments: {} }));
  matches.look(log);
  expect(matches.found).toEqual([0, 2]);
});

test('what is copied keeps its quotes, whatever the text is', () => {
  expect(shell(`it's $(rm) "x"`)).toBe(String.raw`'it'\''s $(rm) "x"'`);
  const copies = copiesOf({ path: '/v1/requests', body: { agent: 'a', query: "it's" } }, 'http://h');
  expect(copies.map(({ name }) => name)).toEqual(['curl', 'TypeScript', 'CLI']);
  expect(copies[0]?.text).toContain(String.raw`'{"agent":"a","query":"it'\''s"}'`);
  expect(copies[2]?.text).toBe(String.raw`npx adjutant ask 'it'\''s' --agent 'a'`);
});
