/** The stored text of a signal: whatever is written is read as it was, byte by byte.
 *  It must never be compared with a text that is written here by hand: only what is read counts. */
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

const id = 'a-long-identifier';
const SIGNALS: Record<string, object> = {
  'as most are': draft('half'),
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

test('takes little more than half of its JSON', () => {
  const signal = draft('half');
  expect(writeSignal(REQUEST, signal).length).toBeLessThan(0.65 * JSON.stringify(signal).length);
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
