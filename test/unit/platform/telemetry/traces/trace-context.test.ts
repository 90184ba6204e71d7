/** W3C trace context: what is read, created and derived.
 *  It must never accept what another implementation refuses. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  childTraceparent,
  isTraceparent,
  newTraceparent,
} from '../../../../../src/platform/telemetry/traces/trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test('a valid value is recognised', () => {
  expect(isTraceparent(`00-${TRACE}-${SPAN}-01`)).toBe(true);
  expect(isTraceparent(`00-${TRACE}-${SPAN}-00`)).toBe(true);
});

test.each([
  ['of no string', 17],
  ['of nothing', undefined],
  ['empty', ''],
  ['in upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['of another version', `01-${TRACE}-${SPAN}-01`],
  ['with a zero trace id', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['with a zero span id', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['with a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
  ['with more behind it', `00-${TRACE}-${SPAN}-01-what`],
  ['on two lines', `00-${TRACE}-${SPAN}-01\n`],
])('a value %s is refused', (_what, value) => {
  expect(isTraceparent(value)).toBe(false);
});

describe('a child', () => {
  test('stays in the trace, with a span of its own and the same flags', () => {
    const child = childTraceparent(`00-${TRACE}-${SPAN}-00`);
    expect(child).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    expect(child).not.toContain(SPAN);
  });

  test.each([undefined, '', 'nonsense'])('of %j starts a trace', (parent) => {
    expect(isTraceparent(childTraceparent(parent))).toBe(true);
  });
});

test('what is made is valid and new each time', () => {
  const made = Array.from({ length: 100 }, newTraceparent);
  expect(made.every(isTraceparent)).toBe(true);
  expect(new Set(made.map((value) => value.slice(3, 35))).size).toBe(100);
});

test('no text at all makes an invalid child', () => {
  fc.assert(fc.property(fc.string(), (text) => isTraceparent(childTraceparent(text))));
});
