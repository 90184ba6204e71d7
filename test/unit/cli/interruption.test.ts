/** Which signals ask, which are echoes and which insist.
 *  It must not send any: the end-to-end test does. */
import { expect, test } from 'vitest';
import { createInterruption } from '../../../src/cli/interruption.ts';

function interruption() {
  const clock = { ms: 5 };
  const insisted: string[] = [];
  const { signal, hear } = createInterruption(
    (stop) => void insisted.push(stop),
    () => clock.ms,
  );
  return { clock, insisted, signal, hear };
}

test('the first signal aborts, and asks for no more', () => {
  const { signal, hear, insisted } = interruption();
  expect(signal.aborted).toBe(false);
  hear('SIGTERM');
  expect(signal.aborted).toBe(true);
  expect(insisted).toEqual([]);
});

test('what comes within a second, whatever its name, is an echo', () => {
  const { clock, hear, insisted } = interruption();
  hear('SIGTERM');
  clock.ms += 1_000;
  hear('SIGTERM');
  hear('SIGINT');
  expect(insisted).toEqual([]);
});

test('a later one insists', () => {
  const { clock, hear, insisted } = interruption();
  hear('SIGINT');
  clock.ms += 1_001;
  hear('SIGINT');
  expect(insisted).toEqual(['SIGINT']);
});
