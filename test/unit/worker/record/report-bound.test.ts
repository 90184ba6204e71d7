/** The size of an attempt's reports beside text, whatever a server or a user's code passes in.
 *  It must never accept a cut report without the mark. */
import { expect, test } from 'vitest';
import { boundReport, LARGEST_REPORT_BYTES } from '../../../../src/worker/record/report-bound.ts';

const call = { call_id: 'a', tool_name: 'slow.work', progress: 3, metadata: {} };

function nested(depth: number): unknown {
  let value: unknown = 'end';
  for (let level = 0; level < depth; level += 1) value = { deeper: value };
  return value;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

test('what fits stays as it is', () => {
  const data = { ...call, message: 'x'.repeat(16_000) };
  expect(boundReport(data)).toBe(data);
});

test.each<[string, Record<string, unknown>]>([
  ['a message of 8 MB', { message: 'x'.repeat(8_000_000) }],
  ['characters of three bytes', { message: '\u20ac'.repeat(10_000) }],
  ['characters that JSON escapes', { message: '\u0000'.repeat(10_000) }],
  ['many members', Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`key-${at}`, at]))],
  ['a long key', { ['k'.repeat(100_000)]: 1 }],
  [
    'many long members',
    Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`${at}`, 'y'.repeat(9_000)])),
  ],
  ['many long metadata', { metadata: { list: Array.from({ length: 500 }, () => 'z'.repeat(500)) } }],
])('%s are cut, and marked', (_what, extra) => {
  const data = { ...call, ...extra };
  const bounded = boundReport(data);
  expect(bytesOf(bounded)).toBeLessThanOrEqual(LARGEST_REPORT_BYTES);
  expect(bounded).toMatchObject({
    call_id: 'a',
    tool_name: 'slow.work',
    progress: 3,
    metadata: { truncated_bytes: bytesOf(data) },
  });
});

test.each<[string, unknown]>([
  ['a nesting that no stack holds', nested(100_000)],
  ['a bigint', 10n],
  ['a getter that throws', Object.defineProperty({}, 'x', { enumerable: true, get: () => JSON.parse('{') })],
])('%s is cut, without an exception', (_what, value) => {
  const bounded = boundReport({ ...call, value });
  expect(bytesOf(bounded)).toBeLessThanOrEqual(LARGEST_REPORT_BYTES);
  expect(bounded).toMatchObject({ call_id: 'a', metadata: { truncated_bytes: null } });
});
