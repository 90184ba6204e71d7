/** What the sweeper does about each directive it checks.
 *  It must never forget an open one. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DirectiveRecord } from '../../../../src/store/request/records.ts';
import { sweepDecision } from '../../../../src/directives/sweep/sweep-decision.ts';

const NOW = 1_000_000_000;
const entry = { requestId: 'r', id: 'a', missedBefore: false };

function record(fields: Partial<DirectiveRecord> = {}): DirectiveRecord {
  return {
    id: 'a',
    type: 'tool_exec',
    status: 'accepted',
    digest: 'd',
    lane: 'tool.x',
    fence: 0,
    released: 0,
    failures: 0,
    redeliveries: 0,
    acceptedAt: NOW - 5_000,
    deadlineAt: NOW + 900_000,
    startedAt: null,
    endedAt: null,
    leaseUntil: null,
    claimedAt: null,
    nextAttemptAt: null,
    begin: null,
    terminal: null,
    waits: null,
    task: false,
    noticed: false,
    priority: null,
    asked: null,
    behind: false,
    cancel: null,
    ...fields,
  };
}

const decide = (fields: Partial<DirectiveRecord>) => sweepDecision(entry, record(fields), NOW);

test('an entry without a directive is given a minute to appear, and forgotten when it was missing before', () => {
  expect(sweepDecision(entry, null, NOW)).toEqual({ kind: 'look_again', at: NOW + 60_000, missed: true });
  expect(sweepDecision({ ...entry, missedBefore: true }, null, NOW)).toEqual({ kind: 'forget' });
});

test('an open directive at its deadline is ended, whatever it is doing', () => {
  for (const status of ['accepted', 'running', 'waiting'] as const) {
    const doing = { status, leaseUntil: NOW + 5_000, nextAttemptAt: NOW + 5_000 };
    expect(decide({ ...doing, deadlineAt: NOW })).toEqual({ kind: 'expire' });
    expect(decide({ ...doing, deadlineAt: NOW + 1 }).kind).not.toBe('expire');
  }
});

const SUCCEEDED = { status: 'succeeded', terminal: 3 } as const;
const FAILED = { status: 'failed', terminal: 3 } as const;
const RUNNING = { status: 'running', acceptedAt: NOW - 50_000 } as const;
const LOST = { status: 'running', acceptedAt: NOW - 86_400_000 } as const;
const OLD_WAITING = { status: 'waiting', acceptedAt: NOW - 50_000 } as const;

// The directive, the decision, and when it is checked again, in milliseconds from now.
test.each<[string, Partial<DirectiveRecord>, string, number?]>([
  ['that succeeded', SUCCEEDED, 'forget'],
  ['that has left a task', { ...FAILED, task: true, endedAt: NOW - 599_999 }, 'withdraw', 5_000],
  ['that left a task long ago', { ...SUCCEEDED, task: true, endedAt: NOW - 600_000 }, 'forget'],
  ['that succeeded, past its deadline', { ...SUCCEEDED, deadlineAt: NOW - 1 }, 'forget'],
  ['that failed: its worker may have died before it recorded that', FAILED, 'record'],
  ['that failed, past its deadline', { ...FAILED, deadlineAt: NOW - 1 }, 'record'],
  ['that was just accepted', { acceptedAt: NOW }, 'enqueue', 5_000],
  ['that was accepted, less often the older it is', { acceptedAt: NOW - 20_000 }, 'enqueue', 20_000],
  ['that was accepted long ago', { acceptedAt: NOW - 86_400_000 }, 'enqueue', 60_000],
  ['whose deadline comes first', { deadlineAt: NOW + 7 }, 'enqueue', 7],
  ['that runs, when its lease ends', { ...RUNNING, leaseUntil: NOW + 1 }, 'look_again', 1],
  ['that runs, however long its lease is', { ...RUNNING, leaseUntil: NOW + 30_000 }, 'look_again', 30_000],
  ['that runs up to its deadline', { ...RUNNING, leaseUntil: NOW + 9, deadlineAt: NOW + 5 }, 'look_again', 5],
  ['that has lost its worker, soon', { ...LOST, leaseUntil: NOW }, 'enqueue', 500],
  ['that has lost its worker, less often later', { ...LOST, leaseUntil: NOW - 4_000 }, 'enqueue', 4_000],
  ['that has lost its worker long ago', { ...LOST, leaseUntil: NOW - 86_400_000 }, 'enqueue', 60_000],
  ['that waits, soon after it is due', { ...OLD_WAITING, nextAttemptAt: NOW + 1_000 }, 'look_again', 1_500],
  ['that waits and is due', { ...OLD_WAITING, nextAttemptAt: NOW }, 'enqueue'],
])('a directive %s', (_which, fields, kind, afterMs) => {
  const at = afterMs === undefined ? {} : { at: NOW + afterMs };
  expect(decide(fields)).toMatchObject({ kind, ...at });
});

test('any open directive is kept in the index, and checked later but not after its deadline', () => {
  const open = fc.record({
    status: fc.constantFrom('accepted' as const, 'running' as const, 'waiting' as const),
    acceptedAt: fc.integer({ min: NOW - 1e9, max: NOW }),
    deadlineAt: fc.integer({ min: NOW - 1e6, max: NOW + 1e9 }),
    leaseUntil: fc.option(fc.integer({ min: NOW - 1e4, max: NOW + 1e4 })),
    nextAttemptAt: fc.option(fc.integer({ min: NOW - 1e4, max: NOW + 1e4 })),
  });
  fc.assert(
    fc.property(open, fc.boolean(), (fields, missedBefore) => {
      const decision = sweepDecision({ ...entry, missedBefore }, record(fields), NOW);
      if (fields.deadlineAt <= NOW) {
        expect(decision).toEqual({ kind: 'expire' });
        return;
      }
      expect(decision.kind).toMatch(/^(enqueue|look_again)$/);
      const at = 'at' in decision ? decision.at : Number.NaN;
      expect(at).toBeGreaterThan(NOW);
      expect(at).toBeLessThanOrEqual(Math.min(NOW + 60_000, fields.deadlineAt));
    }),
  );
});
