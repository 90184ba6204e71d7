/** Which stop signals are gentle, which are echoes, and which force the end.
 *  It must not send any: the end-to-end test does. */
import { expect, test } from 'vitest';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import { DirectiveRefused, problem } from '../../../src/contract/problem.ts';
import { cancelOnInterrupt } from '../../../src/cli/cancel-on-interrupt.ts';
import { createInterruption } from '../../../src/cli/keyboard.ts';

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

test('a cancellation that is refused is reported with its cause', async () => {
  const detail = 'the key has not the scope cancel.';
  const refused = async (): Promise<never> => {
    throw new DirectiveRefused(problem('forbidden', { detail }));
  };
  const stop = new AbortController();
  const client = { cancel: refused } as unknown as DirectiveClient;
  using cancellation = cancelOnInterrupt({ client, interrupt: stop.signal });
  cancellation.watch('r', 'a');
  expect(cancellation.unconfirmed('look').message).toContain('has not been confirmed');
  stop.abort();
  await expect.poll(() => cancellation.unconfirmed('look').message).toContain(`was refused: ${detail}`);
  expect(cancellation.unconfirmed('look').message).not.toContain('..');
  expect(cancellation.unconfirmed('look')).toMatchObject({ how: 'look', exitCode: 130 });
});
