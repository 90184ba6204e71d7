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

test.each([
  ['within a second, whatever its name, is an echo', 1_000, ['SIGTERM', 'SIGINT'], []],
  ['later forces the end', 1_001, ['SIGINT'], ['SIGINT']],
] as const)('what comes %s', (_, ms, later, expected) => {
  const { clock, receive, forced } = interruption();
  receive('SIGINT');
  clock.ms += ms;
  for (const signal of later) receive(signal);
  expect(forced).toEqual(expected);
});
