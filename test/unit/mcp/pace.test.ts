/** How fast a server is read.
 *  It must never depend on a real clock. */
import { expect, test } from 'vitest';
import { createPace } from '../../../src/mcp/pace.ts';

test('a burst is read at once, and messages above the rate wait', () => {
  let now = 0;
  const pace = createPace(() => now);
  pace.received(2_000);
  expect(pace.restMs()).toBe(0);
  pace.received(1_000);
  expect(pace.restMs()).toBe(2_000);
  now = 2_000;
  expect(pace.restMs()).toBe(0);
  pace.received(1);
  expect(pace.restMs()).toBe(2);
});

test('answers never wait, however many calls are made', () => {
  const pace = createPace(() => 0);
  for (let calls = 0; calls < 100_000; calls += 1) {
    pace.requested();
    pace.received(2);
  }
  expect(pace.restMs()).toBe(0);
});
