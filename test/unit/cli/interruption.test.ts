/** Which stop signals are gentle, which are echoes, and which force the end.
 *  It must not send any: the end-to-end test does. */
import { expect, test } from 'vitest';
import { createInterruption } from '../../../src/cli/interruption.ts';

function interruption() {
  const clock = { ms: 5 };
  const forced: string[] = [];
  const { signal, receive } = createInterruption(
    (stop) => void forced.push(stop),
    () => clock.ms,
  );
  return { clock, forced, signal, receive };
}

test('the first signal aborts, and forces nothing', () => {
  const { signal, receive, forced } = interruption();
  expect(signal.aborted).toBe(false);
  receive('SIGTERM');
  expect(signal.aborted).toBe(true);
  expect(forced).toEqual([]);
});

test('what comes within a second, whatever its name, is an echo', () => {
  const { clock, receive, forced } = interruption();
  receive('SIGTERM');
  clock.ms += 1_000;
  receive('SIGTERM');
  receive('SIGINT');
  expect(forced).toEqual([]);
});

test('a later one forces the end', () => {
  const { clock, receive, forced } = interruption();
  receive('SIGINT');
  clock.ms += 1_001;
  receive('SIGINT');
  expect(forced).toEqual(['SIGINT']);
});
