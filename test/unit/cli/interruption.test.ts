/** The stop signals that are gentle, those that are echoes and those that force the end, and their effect on work that a
 *  command follows. Sends none: the end-to-end test does. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import { DirectiveRefused, problem } from '../../../src/contract/problem.ts';
import { type AskOptions, createInterruption, type Keyboard } from '../../../src/cli/keyboard.ts';
import { onInterrupt } from '../../../src/cli/on-interrupt.ts';
import { untilHolds } from '../../support/eventually.ts';

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

const WORK = { requestId: 'r', id: 'a' };

/** A command that follows `WORK`. `refusal`: the answer to each cancellation. */
function following(keyboard: Keyboard | null, refusal: Error | null = null) {
  const cancelled: unknown[] = [];
  const client = {
    cancel: async (...place: unknown[]): Promise<void> => {
      cancelled.push(place.slice(0, 2));
      if (refusal !== null) throw refusal;
    },
  } as unknown as DirectiveClient;
  const { signal: interrupt, receive } = interruption();
  return { cancelled, receive, on: onInterrupt({ client, interrupt, keyboard }) };
}

/** A person who answers each question so; null: presses Ctrl-C instead. */
function typing(answer: string | null): Keyboard {
  return {
    ask: async (_: string, { onInterrupt: again }: AskOptions) => {
      if (answer === null) again?.();
      return answer;
    },
  };
}

describe('an interrupt of a command that follows its work', () => {
  test.each([
    ['SIGHUP', null, false],
    ['SIGTERM', typing('y'), false],
    ['SIGINT', null, true],
    ['SIGINT', typing(''), false],
    ['SIGINT', typing('no'), false],
    ['SIGINT', typing('y'), true],
    ['SIGINT', typing(null), true],
  ] as const)('%s with the keyboard %j cancels: %j', async (signal, keyboard, isCancelled) => {
    const { cancelled, receive, on } = following(keyboard);
    using ended = on;
    ended.watch(WORK);
    receive(signal);
    if (isCancelled) await expect.poll(() => cancelled).toEqual([['r', 'a']]);
    else await expect.poll(() => ended.giveUp.aborted).toBe(true);
    expect(ended.giveUp.aborted).toBe(!isCancelled);
    const { message, how, exitCode, ids } = ended.unended(WORK);
    expect({ exitCode, ids }).toEqual({ exitCode: 130, ids: { request_id: 'r', directive_id: 'a' } });
    if (isCancelled) return expect(message).toContain('has not been confirmed');
    expect(cancelled).toEqual([]);
    expect(message).toBe('Interrupted; a in request r continues.');
    expect(how).toMatch(/adjutant tail r; cancel it: .*adjutant cancel r a$/);
  });

  test('before the work is accepted acts as soon as it is', async () => {
    const { cancelled, receive, on } = following(null);
    using ended = on;
    receive('SIGINT');
    expect(cancelled).toEqual([]);
    ended.watch(WORK);
    await expect.poll(() => cancelled).toEqual([['r', 'a']]);
  });

  test('before the work is accepted asks then, and gives up waiting for a cancellation that is not confirmed', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { cancelled, receive, on } = following(typing('y'));
    using ended = on;
    receive('SIGINT');
    ended.watch(WORK);
    await untilHolds(() => expect(cancelled).toEqual([['r', 'a']]));
    expect(ended.giveUp.aborted).toBe(false);
    // Not all timers: those of other files of this process may have no end.
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ended.giveUp.aborted).toBe(true);
  });

  test('never cancels work that others wait for', async () => {
    const { cancelled, receive, on } = following(typing('y'));
    using ended = on;
    ended.watch({ ...WORK, isShared: true });
    receive('SIGINT');
    await expect.poll(() => ended.giveUp.aborted).toBe(true);
    expect(cancelled).toEqual([]);
    expect(ended.unended({ ...WORK, isShared: true }).message).toContain('continues for others');
  });

  test('reports a cancellation that is refused with its cause', async () => {
    const detail = 'the key has not the scope cancel.';
    const { receive, on } = following(null, new DirectiveRefused(problem('forbidden', { detail })));
    using ended = on;
    ended.watch(WORK);
    receive('SIGINT');
    await expect.poll(() => ended.unended(WORK).message).toContain(`was refused: ${detail}`);
    expect(ended.unended(WORK).message).not.toContain('..');
  });
});
