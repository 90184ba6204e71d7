/** Whether a call begins with the pass that it has: at once with one asked for just now, else only when the gate still knows it.
 *  It must not need Redis: what the gate answers is said by the test. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { createRunningAttempts } from '../../../src/worker/attempt/running-attempts.ts';
import { type HeldPass, lastLook, mayBegin } from '../../../src/worker/gate-pass.ts';

const LEASE_MS = 6_000;
const claim = { requestId: 'r', id: 'd' };

/** A pass that was asked for so long ago, by the clock of the process and by that of the machine. */
const heldSince = (ms: number, wallMs: number): HeldPass => ({
  lane: 'tool.peer',
  token: 't',
  heldAt: performance.now() - ms,
  heldAtWall: Date.now() - wallMs,
});

function gateThatAnswers(isExtended: boolean) {
  let asked = 0;
  const extend = async (): Promise<boolean> => {
    asked += 1;
    return isExtended;
  };
  const running = { givenUp: new AbortController().signal };
  const parts = { gated: { extend }, limits: { leaseMs: LEASE_MS }, running } as never;
  return { parts, asked: () => asked };
}

async function answerOf(
  pass: HeldPass | null,
  isExtended: boolean,
): Promise<[begins: boolean, asked: number]> {
  const { parts, asked } = gateThatAnswers(isExtended);
  return [await mayBegin(parts, { pass, claim } as never), asked()];
}

test.each<[string, HeldPass | null, boolean, [boolean, number]]>([
  ['without a pass', null, false, [true, 0]],
  ['with one asked for just now', heldSince(0, 0), false, [true, 0]],
  ['after the process was frozen, when its lease is over', heldSince(10_000, 10_000), false, [false, 1]],
  ['after the process was frozen, when its lease goes on', heldSince(3_000, 3_000), true, [true, 1]],
  ['after the machine slept, when its lease is over', heldSince(0, 10_000), false, [false, 1]],
  ['after the clock was set back, when its lease is over', heldSince(0, -10_000), false, [false, 1]],
  ['with a clock that was set while the process was frozen', heldSince(10_000, 0), false, [false, 1]],
])('a call %s', async (_when, pass, isExtended, expected) => {
  expect(await answerOf(pass, isExtended)).toEqual(expected);
});

test.each([
  ['whose pass has lapsed', false, [undefined, 'lapsed']],
  ['whose pass goes on', true, [true, null]],
])('an attempt %s looks once more before it sends its call', async (_which, isExtended, expected) => {
  const { parts } = gateThatAnswers(isExtended);
  const handle = createRunningAttempts().begin({ ...claim, fence: 1 });
  const look = lastLook(parts, { pass: heldSince(10_000, 10_000), claim } as never, handle);
  const holds = await look.mayBegin?.();
  expect([holds?.(), handle.stopReason()]).toEqual(expected);
});

test('an attempt that is stopped while it looks does not wait for Redis, and sends nothing', async () => {
  const running = { givenUp: new AbortController().signal };
  const gated = { extend: () => new Promise<boolean>(() => {}) };
  const handle = createRunningAttempts().begin({ ...claim, fence: 1 });
  const parts = { gated, limits: { leaseMs: LEASE_MS }, running } as never;
  const look = lastLook(parts, { pass: heldSince(10_000, 10_000), claim } as never, handle);
  const looking = look.mayBegin?.();
  handle.stop('cancelled');
  expect([await looking, await look.mayBegin?.(), handle.stopReason()]).toEqual([null, null, 'cancelled']);
});

test('an attempt without limits does not look again', () => {
  const { parts } = gateThatAnswers(false);
  const handle = createRunningAttempts().begin({ ...claim, fence: 1 });
  expect(lastLook(parts, { pass: null, claim } as never, handle)).toEqual({});
});

test('a call that is written late, because its process was frozen after the look, is not written', async () => {
  const { parts } = gateThatAnswers(true);
  const handle = createRunningAttempts().begin({ ...claim, fence: 1 });
  const look = lastLook(parts, { pass: heldSince(0, 0), claim } as never, handle);
  const holds = await look.mayBegin?.();
  expect([holds?.(), handle.stopReason()]).toEqual([true, null]);
  vi.useFakeTimers({ now: Date.now() + LEASE_MS * 0.7, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  expect([holds?.(), handle.stopReason()]).toEqual([false, 'lapsed']);
});
