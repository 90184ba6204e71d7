/** What a test asserts of signals passes only for what is there.
 *  It must not depend on the words of a verdict beyond what a reader needs. */
import { expect, test } from 'vitest';
import type { TerminalSignal } from '../../../src/contract/signal/signal.ts';
import { assertEndedOnce, assertFailed, assertSucceeded, matchers } from '../../../src/testing/judgement.ts';

function ended(result: object, causationid = 'a'): TerminalSignal {
  return { type: 'ai.tool.result', causationid, data: { result } } as unknown as TerminalSignal;
}

const good = ended({ ok: true, payload: { sum: 5 }, effects: [] });
const bad = ended({ ok: false, error: { type: 'timeout', message: 'too late' }, effects: [] });

test('a success is one, with its payload where one is given', () => {
  assertSucceeded(good);
  assertSucceeded(good, { sum: 5 });
  expect(() => assertSucceeded(good, { sum: 6 })).toThrow('it succeeded with {"sum":5}, not with {"sum":6}');
  expect(() => assertSucceeded(good, undefined)).toThrow('not with undefined');
  expect(() => assertSucceeded(bad)).toThrow('"message":"too late"');
  expect(() => assertSucceeded(null)).toThrow('it has not ended');
});

test('a failure is one, of its type where one is given', () => {
  assertFailed(bad);
  assertFailed(bad, 'timeout');
  expect(() => assertFailed(bad, 'network')).toThrow('it failed as timeout: too late');
  expect(() => assertFailed(good)).toThrow('ended as ai.tool.result without an error');
  expect(() => assertFailed(undefined)).toThrow('it has not ended');
});

test('one end is one: neither none nor two, nor another’s', () => {
  assertEndedOnce([good], 'a');
  expect(() => assertEndedOnce([], 'a')).toThrow("'a' has 0 terminal signals among 0 signals");
  expect(() => assertEndedOnce([good, bad], 'a')).toThrow('2 terminal signals');
  expect(() => assertEndedOnce([ended({ ok: true }, 'b')], 'a')).toThrow(
    '0 terminal signals among 1 signals',
  );
});

test('a matcher says why, in both directions', () => {
  expect(matchers.toHaveSucceeded(good).message()).toMatch(/not to have succeeded: it succeeded with/);
  expect(matchers.toHaveFailed(null, 'timeout')).toMatchObject({ pass: false });
  expect(matchers.toHaveFailed(null, 'timeout').message()).toBe(
    'expected the directive to have failed as timeout: it has not ended',
  );
  expect(matchers.toEndOnce([good], 'a').pass).toBe(true);
});
