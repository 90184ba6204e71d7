/** What the doctor says of schedules: late, failing, waiting, paused by the service.
 *  It must not ask a clock. */
import { expect, test } from 'vitest';
import type { ListedSchedule } from '../../../../src/contract/schedule/schedule.ts';
import { scheduleFindings } from '../../../../src/cli/doctor/schedules.ts';
import { listedSchedule } from '../../../support/listed-schedule.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const before = (ms: number): string => new Date(NOW - ms).toISOString();

const schedule = (id: string, more: Partial<ListedSchedule> = {}) =>
  listedSchedule({ id, next_at: before(-1_000), ...more });

const last = (outcome: 'failed' | 'missed', reason: string, instants = 1): ListedSchedule['last'] => ({
  scheduled_at: before(1_000),
  at: before(1_000),
  outcome,
  reason,
  request_id: null,
  instants,
  until: null,
  links: null,
});

test('nothing is said of none, one line of those that are as they should be', () => {
  expect(scheduleFindings([], NOW)).toEqual([]);
  const paused = { at: before(0), by: 'Ada', note: 'it moves' };
  const late = schedule('b', { status: 'paused', paused, next_at: null });
  expect(scheduleFindings([schedule('a'), late], NOW)).toEqual([
    { subject: 'schedules', ok: true, says: '2, of which 1 fires', fix: null },
  ]);
});

test.each<[string, Partial<ListedSchedule>, RegExp, RegExp]>([
  [
    'late',
    { next_at: before(61_000) },
    /^s is late: its instant was 2026-11-23T11:58:59/,
    /log of the service/,
  ],
  [
    'failing',
    { failures_in_a_row: 3, last: last('failed', 'not_found: there is no agent "x"') },
    /^s has failed 3 times in a row: not_found: there is no agent "x"$/,
    /schedule show s.*schedule update s/,
  ],
  ['missed', { last: last('missed', 'nobody', 4) }, /^s has missed 4 instants$/, /schedule show s/],
  [
    'held up',
    { waiting: { since: before(9_000), reason: 'lane_full: it is full' }, next_at: before(90_000) },
    /^s waits since .*: lane_full: it is full$/,
    /Free the lane/,
  ],
  [
    'paused by the service',
    {
      status: 'paused',
      paused: { at: before(0), by: null, note: 'The key "a" is revoked.' },
      last: last('failed', 'The key "a" is revoked.'),
    },
    /^s has paused itself: The key "a" is revoked\.$/,
    /schedule resume s/,
  ],
])('one that is %s', (_, more, says, fix) => {
  const [finding, ...others] = scheduleFindings([schedule('s', more)], NOW);
  expect(others).toEqual([]);
  expect(finding).toMatchObject({ ok: false, subject: 'schedules' });
  expect(finding?.says).toMatch(says);
  expect(finding?.fix).toMatch(fix);
});

test('many faults are one line, and jitter is not lateness', () => {
  const late = ['a', 'b', 'c', 'd', 'e'].map((id) => schedule(id, { next_at: before(3_600_000) }));
  const [finding] = scheduleFindings(late, NOW);
  expect(finding?.says).toMatch(/^a is late.*; b is late.*; c is late.*; and 2 more$/);
  const jittered = schedule('j', { next_at: before(61_000), jitter_ms: 5_000 });
  expect(scheduleFindings([jittered], NOW)[0]?.ok).toBe(true);
});
