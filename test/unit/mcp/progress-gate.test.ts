/** Progress notes for the caller: bursts pass, floods are thinned.
 *  It must never wait for real time. */
import { expect, test } from 'vitest';
import { createProgressGate } from '../../../src/mcp/call.ts';

function gateAt(): {
  passed: number[];
  offer: (progress: number) => void;
  close: () => void;
  pass: (ms: number) => void;
} {
  const passed: number[] = [];
  let now = 0;
  const gate = createProgressGate(
    ({ progress }) => passed.push(progress),
    () => now,
  );
  return {
    passed,
    offer: (progress) => gate.offer({ progress }),
    close: () => gate.close(),
    pass: (ms) => {
      now += ms;
    },
  };
}

test('passes a burst whole', () => {
  const { passed, offer } = gateAt();
  for (let step = 1; step <= 50; step += 1) offer(step);
  expect(passed).toHaveLength(50);
});

test('passes 20 a second of a flood, the latest at the end', () => {
  const { passed, offer, close, pass } = gateAt();
  for (let step = 1; step <= 10_000; step += 1) {
    offer(step);
    pass(1);
  }
  close();
  expect(passed.length).toBeGreaterThanOrEqual(245);
  expect(passed.length).toBeLessThanOrEqual(252);
  expect(passed.at(-1)).toBe(10_000);
});

test('passes nothing after the end, and nothing twice', () => {
  const { passed, offer, close } = gateAt();
  offer(1);
  close();
  close();
  offer(2);
  expect(passed).toEqual([1]);
});
