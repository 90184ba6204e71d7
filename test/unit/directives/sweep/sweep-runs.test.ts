/** What the sweeper decides about a run, from the journal's entry, and whom it tells.
 *  It must not need Redis: the decision is a pure function. */
import { describe, expect, test, vi } from 'vitest';
import type { RunHead } from '../../../../src/store/run/run-journal.ts';
import { createRunSweep, runDecision } from '../../../../src/directives/sweep/sweep-runs.ts';

const NOW = 1_000_000_000;
const ENTRY = { requestId: 'r', id: '@run', missedBefore: false };

function head(fields: Partial<RunHead> = {}): RunHead {
  const idle = {
    version: 3,
    status: 'waiting' as const,
    ended: false,
    unread: false,
    wakeAt: null,
    outbox: 0,
    begin: null,
  };
  return { ...idle, changedAt: NOW - 20_000, ...fields };
}

describe('a run', () => {
  test('that waits for another one is let go when that has ended; what is replaced is cancelled, once', () => {
    const behind = { status: 'pending' as const, behind: 'once.k.p', begin: { at: NOW + 9_000, by: null } };
    expect(runDecision(ENTRY, head(behind), NOW)).toMatchObject({ kind: 'release' });
    expect(runDecision(ENTRY, head({ ...behind, isReplaced: true }), NOW)).toMatchObject({ kind: 'cancel' });
    const cancelled = { ...behind, isReplaced: true, isCancelled: true, unread: true };
    expect(runDecision(ENTRY, head(cancelled), NOW)).toMatchObject({ kind: 'look_again', wake: true });
    expect(runDecision(ENTRY, head({ isReplaced: true, ended: true }), NOW)).toEqual({ kind: 'forget' });
  });

  test('that waits is checked again, less often the longer it has waited', () => {
    const at = (changedAt: number) => runDecision(ENTRY, head({ changedAt }), NOW);
    expect(at(NOW - 20_000)).toEqual({ kind: 'look_again', at: NOW + 20_000, wake: false, wakeAhead: null });
    expect(at(NOW)).toMatchObject({ at: NOW + 5_000 });
    expect(at(NOW - 3_600_000)).toMatchObject({ at: NOW + 60_000 });
  });

  test.each([
    ['something to read', { unread: true }],
    ['something to do', { outbox: 1 }],
    ['not begun', { status: 'pending' as const }],
    ['come due', { wakeAt: NOW }],
    ['something to do after its end', { ended: true, outbox: 1 }],
  ])('that has %s is woken', (_what, fields) => {
    expect(runDecision(ENTRY, head(fields), NOW)).toMatchObject({ kind: 'look_again', wake: true });
  });

  test('that comes due soon gets a wake in advance, and is checked then; one that comes due later is checked before', () => {
    const soon = { at: NOW + 7_000, wake: false, wakeAhead: NOW + 7_000 };
    expect(runDecision(ENTRY, head({ wakeAt: NOW + 7_000 }), NOW)).toEqual({ kind: 'look_again', ...soon });
    const later = runDecision(ENTRY, head({ wakeAt: NOW + 120_000, changedAt: 0 }), NOW);
    expect(later).toMatchObject({ at: NOW + 60_000, wakeAhead: null });
  });

  test('that has ended and has nothing left to do is forgotten, even with an old wake time', () => {
    expect(runDecision(ENTRY, head({ ended: true, wakeAt: NOW - 1 }), NOW)).toEqual({ kind: 'forget' });
  });

  test('that the journal does not know is given time to appear, once', () => {
    expect(runDecision(ENTRY, null, NOW)).toEqual({ kind: 'missing', at: NOW + 60_000 });
    expect(runDecision({ ...ENTRY, missedBefore: true }, null, NOW)).toEqual({ kind: 'forget' });
  });

  test('that waits is noted for the list at each look: its engine may have died before it did', async () => {
    const changed = vi.fn<(requestId: string) => void>();
    const lookAgain = vi.fn<() => Promise<void>>().mockResolvedValue();
    const sweep = createRunSweep({
      runs: { head: async () => head() },
      index: { lookAgain },
      waker: {},
      changed,
    } as unknown as Parameters<typeof createRunSweep>[0]);
    await sweep({ ...ENTRY, takenAs: '1' }, NOW);
    expect(changed.mock.calls).toEqual([['r']]);
    expect(lookAgain).toHaveBeenCalledOnce();
  });
});
