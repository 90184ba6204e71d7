/** How a call is ended from this side, and why.
 *  It must never wait for real time. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startCallDeadline } from '../../../src/mcp/call-deadline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;

test('ends at its idle limit', () => {
  const deadline = startCallDeadline({ signal: never, timeoutMs: 100, maxTotalMs: 1_000 });
  vi.advanceTimersByTime(99);
  expect([deadline.ending(), deadline.signal.aborted]).toEqual([null, false]);
  vi.advanceTimersByTime(1);
  expect([deadline.ending(), deadline.signal.aborted]).toEqual(['timed_out', true]);
});

test('each sign of life restarts the idle time, up to the total', () => {
  const deadline = startCallDeadline({ signal: never, timeoutMs: 100, maxTotalMs: 250 });
  for (let passed = 0; passed < 240; passed += 80) {
    expect(deadline.ending()).toBeNull();
    deadline.touch();
    vi.advanceTimersByTime(80);
  }
  deadline.touch();
  vi.advanceTimersByTime(20);
  expect(deadline.ending()).toBe('total_timed_out');
});

test('a total limit below the idle limit ends it without a sign of life', () => {
  const deadline = startCallDeadline({ signal: never, timeoutMs: 1_000, maxTotalMs: 50 });
  vi.advanceTimersByTime(50);
  expect(deadline.ending()).toBe('total_timed_out');
});

test('a cancellation stays one, whatever follows', () => {
  const abort = new AbortController();
  const deadline = startCallDeadline({ signal: abort.signal, timeoutMs: 100, maxTotalMs: 1_000 });
  abort.abort();
  vi.advanceTimersByTime(5_000);
  deadline.end('stopped');
  expect([deadline.ending(), deadline.signal.reason]).toEqual(['cancelled', 'cancelled']);
  expect(startCallDeadline({ signal: AbortSignal.abort(), timeoutMs: 1, maxTotalMs: 1 }).ending()).toBe(
    'cancelled',
  );
});

test('nothing is left running after dispose', () => {
  const abort = new AbortController();
  const deadline = startCallDeadline({ signal: abort.signal, timeoutMs: 100, maxTotalMs: 50 });
  deadline.touch();
  deadline.dispose();
  abort.abort();
  expect(vi.getTimerCount()).toBe(0);
  expect(deadline.ending()).toBeNull();
});

test('times too long for a timer are capped', () => {
  const deadline = startCallDeadline({
    signal: never,
    timeoutMs: Number.MAX_SAFE_INTEGER,
    maxTotalMs: 2 ** 40,
  });
  vi.advanceTimersByTime(60_000);
  expect(deadline.ending()).toBeNull();
});

test('its idle time stands still until each pause is resumed', () => {
  const deadline = startCallDeadline({ signal: never, timeoutMs: 100, maxTotalMs: 10_000 });
  deadline.pause();
  deadline.pause();
  deadline.resume();
  vi.advanceTimersByTime(500);
  expect(deadline.ending()).toBeNull();
  deadline.resume();
  vi.advanceTimersByTime(100);
  expect(deadline.ending()).toBe('timed_out');
});
