/** The entry of a signal in its log, and what is published of it: docs/redis.md, which other programs read them by.
 *  Whatever is written must be read as it was, byte by byte. */
import { describe, expect, test } from 'vitest';
import { draftSignal } from '../../../../src/store/log/signal-draft.ts';
import { readAnnouncement } from '../../../../src/store/log/announcement.ts';
import { readSignal, writeSignal } from '../../../../src/store/log/stored-signal.ts';
import { newTraceparent } from '../../../../src/platform/telemetry/traces/trace-context.ts';

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
const TALE = JSON.stringify(TERMINAL);

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
  });
});

test('an entry is JSON under the CloudEvents names, without what the key tells', () => {
  const { specversion, subject, datacontenttype, ...named } = draft('half');
  const entry = JSON.parse(appended(writeSignal(REQUEST, draft('half'))));
  expect([specversion, subject, datacontenttype]).toEqual(['1.0', REQUEST, 'application/json']);
  expect(Object.keys(entry)).toEqual([...Object.keys(named), 'sequence']);
});

test.each(['', '5', 'null', '"x"', '[]', appended(writeSignal(REQUEST, draft('half'))).slice(0, -1)])(
  'a damaged entry %j is no signal',
  (text) => expect(() => readSignal(REQUEST, text)).toThrow(SyntaxError),
);

describe('an announcement', () => {
  const entry = appended(writeSignal(REQUEST, draft('half')));

  test('is the entry of the log, and says whether it is the last', () => {
    const signal = readSignal(REQUEST, entry);
    const [open, last] = [entry, `${entry.slice(0, -1)},"closed":true}`];
    expect(readAnnouncement(REQUEST, open)).toEqual({
      sequence: 7,
      closed: false,
      signal,
      characters: open.length,
    });
    expect(readAnnouncement(REQUEST, `of ${last}`, 3)).toEqual({
      sequence: 7,
      closed: true,
      signal,
      characters: last.length,
    });
  });

  test('of a large signal is its sequence alone', () => {
    expect(readAnnouncement(REQUEST, '{"sequence":8,"closed":true}')).toMatchObject({
      sequence: 8,
      closed: true,
      signal: null,
    });
  });

  // The channel is open to any program that may write to Redis.
  test.each([
    '',
    'null',
    '5',
    '[]',
    '{"a',
    '{}',
    '{"sequence":0}',
    '{"sequence":1e400}',
    '{"sequence":"2"}',
    '{"sequence":2,"closed":1}',
    '{"sequence":2,"type":"x"}',
    '{"sequence":2,"data":{}}',
    '{"sequence":2,"type":"x","data":[]}',
    '{"sequence":2,"mood":"calm"}',
  ])('%j is none', (text) => expect(() => readAnnouncement(REQUEST, text)).toThrow(Error));
});
