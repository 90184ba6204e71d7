/** The stored text of a signal: whatever is written is read as it was, byte by byte.
 *  It must never be compared with a text that is written here by hand: only what is read counts, also of what an earlier version wrote. */
import { describe, expect, test } from 'vitest';
import { draftSignal } from '../../../src/journal/signal-draft.ts';
import { readSignal, readSized, writeSignal } from '../../../src/journal/stored-signal.ts';
import { newTraceparent } from '../../../src/telemetry/trace-context.ts';

const REQUEST = '01a20489-79da-7125-b287-3fae8a07abcc';
const CALL = `${REQUEST}.call-1`;

/** As include-record.lua appends it. */
const appended = (text: string): string => `${text.slice(0, -1)},"sequence":7}`;

function draft(message: string, more: object = {}) {
  const metadata = { request_id: REQUEST, run_id: REQUEST };
  const data = { call_id: CALL, tool_name: 'test.echo', progress: 1, message, metadata };
  const origin = { requestId: REQUEST, causationId: CALL, traceparent: newTraceparent() };
  return { ...draftSignal('ai.tool.progress', data, origin), ...more };
}

/** What is written of the ends, starts and pieces of directives, and what looks like it. */
function written(data: object, type = 'ai.tool.result') {
  const origin = { requestId: REQUEST, causationId: id, traceparent: newTraceparent(), attempt: 1 };
  return draftSignal(type as 'ai.tool.result', data as never, origin);
}

const id = 'a-long-identifier';
const OK = { ok: true, payload: 'ok', effects: [] };
const FAILED = {
  ok: false,
  error: { type: 'timeout', message: 'late', details: {}, retryable: true },
  effects: [],
};
const IDS = { request_id: REQUEST, run_id: REQUEST };
const LAST = { attempts: 1, effect: 'read', duration_ms: 3 };
const DIRECTIVE = { origin: 'directive', ...IDS };
const TOOL = { operation: 'tool_execute', origin: 'worker_runtime', ...IDS };
const TERMINAL = { call_id: id, directive_type: 'noop', result: OK, metadata: { ...DIRECTIVE, ...LAST } };
const CALLED = { call_id: id, tool_name: 't' };
const TALE = `${JSON.stringify(TERMINAL)}\u0006a\u0006z`;

const SIGNALS: Record<string, object> = {
  'as most are': draft('half'),
  'of a directive that succeeded': written(TERMINAL, 'directive.result'),
  'of a tool': written({ ...CALLED, result: OK, content: '{"ok":true}', metadata: { ...TOOL, ...LAST } }),
  'of a failure, of a second attempt': written({
    ...CALLED,
    result: FAILED,
    metadata: { ...TOOL, attempts: 2, effect: 'once' },
  }),
  'of an answer': written({
    call_id: id,
    result: OK,
    metadata: { operation: 'generate_text', ...DIRECTIVE, ...LAST, effect: 'idempotent' },
  }),
  'of a piece of an answer': written({
    call_id: id,
    delta: 'x',
    metadata: { operation: 'stream_text', ...DIRECTIVE },
  }),
  'whose payload is such data, and a text of it': written({
    ...TERMINAL,
    result: { ok: true, payload: [TERMINAL, TALE, TERMINAL], effects: [TERMINAL] },
  }),
  'whose payload is all': written({ ...CALLED, result: { ok: true, payload: TERMINAL, effects: [] } }),
  'whose metadata come first': written({
    call_id: id,
    metadata: TERMINAL.metadata,
    result: OK,
    tool_name: 't',
  }),
  'whose last text is large': written({
    ...TERMINAL,
    metadata: { ...DIRECTIVE, x: TALE.repeat(9), ...LAST },
  }),
  'of an attempt': draftSignal('ai.tool.started', { call_id: id, tool_name: 't', metadata: {} } as never, {
    requestId: REQUEST,
    causationId: id,
    traceparent: newTraceparent(),
    attempt: 3,
  }),
  'that speaks of its ids, and in control characters': draft(
    `\u0001\u0005 ${CALL} ${REQUEST}$& \u{1f600} "\\`,
  ),
  'caused by its request': draft(REQUEST, { causationid: REQUEST }),
  'with a short cause': draft('sss', { causationid: 's' }),
  'with a cause beyond ASCII': draft('ü', { causationid: 'Grüße-\u0003-\u{1f600}' }),
  'with a type of control characters': draft('x', { type: 'x\u0003\u0004y' }),
  'about something else': draft('x', { subject: 'another' }),
  'with a member more': draft('x', { mood: 'calm' }),
  'of another version of the envelope': draft('x', { specversion: '1.1' }),
  'of another media type': draft('x', { datacontenttype: 'text/plain' }),
  'with ids again and again': draft(`${REQUEST} `.repeat(1_000)),
  'without data': draft('x', { data: undefined }),
};

describe.each(Object.entries(SIGNALS))('a signal %s', (_name, signal) => {
  test('is read as it was', () => {
    const whole = appended(JSON.stringify(signal));
    expect(JSON.stringify(readSignal(REQUEST, appended(writeSignal(REQUEST, signal))))).toBe(whole);
    expect(JSON.stringify(readSignal(REQUEST, whole))).toBe(whole);
    const { bytes } = readSized(REQUEST, appended(writeSignal(REQUEST, signal)));
    expect(bytes).toBeGreaterThanOrEqual(Buffer.byteLength(whole));
    expect(bytes).toBeLessThan(Buffer.byteLength(whole) + 64);
  });
});

test('of a stranger takes little more than half of its JSON, an end less', () => {
  const signal = draft('half');
  expect(writeSignal(REQUEST, signal).length).toBeLessThan(0.65 * JSON.stringify(signal).length);
  const end = written(TERMINAL, 'directive.result');
  expect(writeSignal(REQUEST, end).length).toBeLessThan(0.4 * JSON.stringify(end).length);
});

test('a signal whose payload repeats what most have in common is about as long when stored as when read', () => {
  const signal = written({
    ...TERMINAL,
    result: { ok: true, payload: Array(40).fill(TERMINAL), effects: [] },
  });
  const plain = { ...signal, data: { ...signal.data, metadata: {} } };
  for (const each of [signal, plain])
    expect(writeSignal(REQUEST, each).length).toBeGreaterThan(JSON.stringify(each).length - 1_024 - 300);
});

test('what an earlier version has stored, with all of its data, is read', () => {
  const { data, ...head } = written(TERMINAL, 'directive.result') as unknown as Record<string, string>;
  const members = [head['id'], head['source'], head['type'], head['time'], head['traceparent'], id, '1'];
  const json = JSON.stringify(data).replaceAll(REQUEST, '\u0001').replaceAll(id, '\u0005');
  const stored = `\u0002${members.join('\u0003')}\u0004${json}}`;
  expect(JSON.stringify(readSignal(REQUEST, appended(stored)))).toBe(
    appended(JSON.stringify({ ...head, data })),
  );
});

test('a stored text with a piece that is unknown here is no signal', () => {
  const text = appended(writeSignal(REQUEST, written(TERMINAL, 'directive.result')));
  expect(text).toContain('\u0006a');
  expect(() => readSignal(REQUEST, text.replace('\u0006a', '\u0006Z'))).toThrow(SyntaxError);
});

test.each([REQUEST, CALL, 'r'.padEnd(128, 'abcdefgh')])(
  'that repeats %s is about as long when stored as when read',
  (repeated) => {
    for (const times of [5, 40, 8_000]) {
      const signal = draft(repeated.repeat(times), { causationid: repeated, subject: repeated });
      const stored = writeSignal(repeated, signal).length;
      expect(stored).toBeGreaterThan(JSON.stringify(signal).length - 1_024 - 200 - repeated.length);
    }
  },
);

test('a damaged text is no signal', () => {
  const text = appended(writeSignal(REQUEST, draft('half')));
  for (const length of [1, 40, text.length - 1])
    expect(() => readSignal(REQUEST, text.slice(0, length))).toThrow(SyntaxError);
});
