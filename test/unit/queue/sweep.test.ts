/** What the sweeper does about each directive it checks.
 *  It must never forget an open one. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DirectiveRecord } from '../../../src/journal/records.ts';
import { sweepDecision } from '../../../src/queue/sweep-decision.ts';

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
    terminal: null,
    waits: null,
    ...fields,
  };
}

const decide = (fields: Partial<DirectiveRecord>) => sweepDecision(entry, record(fields), NOW);

describe('an entry without a directive', () => {
  test('is given a minute to appear', () => {
    expect(sweepDecision(entry, null, NOW)).toEqual({ kind: 'look_again', at: NOW + 60_000, missed: true });
  });

  test('is forgotten when it was missing before', () => {
    expect(sweepDecision({ ...entry, missedBefore: true }, null, NOW)).toEqual({ kind: 'forget' });
  });
});

test('a directive that succeeded is forgotten, also past its deadline', () => {
  expect(decide({ status: 'succeeded', terminal: 3 })).toEqual({ kind: 'forget' });
  expect(decide({ status: 'succeeded', terminal: 3, deadlineAt: NOW - 1 })).toEqual({ kind: 'forget' });
});

test('the end of a failed directive is recorded first, since its worker may have died before', () => {
  expect(decide({ status: 'failed', terminal: 3 })).toEqual({ kind: 'record' });
  expect(decide({ status: 'failed', terminal: 3, deadlineAt: NOW - 1 })).toEqual({ kind: 'record' });
});

test('an open directive at its deadline is ended, whatever it is doing', () => {
  for (const status of ['accepted', 'running', 'waiting'] as const) {
    const doing = { status, leaseUntil: NOW + 5_000, nextAttemptAt: NOW + 5_000 };
    expect(decide({ ...doing, deadlineAt: NOW })).toEqual({ kind: 'expire' });
    expect(decide({ ...doing, deadlineAt: NOW + 1 }).kind).not.toBe('expire');
  }
});

test('an accepted directive is enqueued', () => {
  expect(decide({ status: 'accepted' })).toEqual({ kind: 'enqueue', at: NOW + 5_000 });
});

test('a running one is left alone while its lease holds, and enqueued after', () => {
  expect(decide({ status: 'running', leaseUntil: NOW + 1 }).kind).toBe('look_again');
  expect(decide({ status: 'running', leaseUntil: NOW }).kind).toBe('enqueue');
});

test('a running one is checked when its lease ends, however old it is: only the sweeper may notice that its worker died', () => {
  const running = { status: 'running', acceptedAt: NOW - 50_000 } as const;
  expect(decide({ ...running, leaseUntil: NOW + 1 })).toEqual({ kind: 'look_again', at: NOW + 1 });
  expect(decide({ ...running, leaseUntil: NOW + 30_000 })).toEqual({ kind: 'look_again', at: NOW + 30_000 });
  expect(decide({ ...running, leaseUntil: NOW + 9, deadlineAt: NOW + 5 })).toMatchObject({ at: NOW + 5 });
});

test('one that has lost its worker is checked again soon, and less often the longer no worker comes', () => {
  const lost = { status: 'running', acceptedAt: NOW - 86_400_000 } as const;
  expect(decide({ ...lost, leaseUntil: NOW })).toEqual({ kind: 'enqueue', at: NOW + 500 });
  expect(decide({ ...lost, leaseUntil: NOW - 4_000 })).toEqual({ kind: 'enqueue', at: NOW + 4_000 });
  expect(decide({ ...lost, leaseUntil: NOW - 86_400_000 })).toEqual({ kind: 'enqueue', at: NOW + 60_000 });
});

test('an old one is checked soon after the time of its next attempt: it may have no job', () => {
  const waiting = { status: 'waiting', nextAttemptAt: NOW + 1_000, acceptedAt: NOW - 50_000 } as const;
  expect(decide(waiting)).toEqual({ kind: 'look_again', at: NOW + 1_500 });
});

test('a waiting one is left alone until its next attempt is due', () => {
  expect(decide({ status: 'waiting', nextAttemptAt: NOW + 1 }).kind).toBe('look_again');
  expect(decide({ status: 'waiting', nextAttemptAt: NOW }).kind).toBe('enqueue');
});

test('old ones are checked less often than young ones, and all at their deadline', () => {
  expect(decide({ acceptedAt: NOW })).toMatchObject({ at: NOW + 5_000 });
  expect(decide({ acceptedAt: NOW - 20_000 })).toMatchObject({ at: NOW + 20_000 });
  expect(decide({ acceptedAt: NOW - 86_400_000 })).toMatchObject({ at: NOW + 60_000 });
  expect(decide({ deadlineAt: NOW + 7 })).toMatchObject({ at: NOW + 7 });
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
