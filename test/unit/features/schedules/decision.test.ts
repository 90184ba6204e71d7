/** What is to be done about a schedule, by its record, the clock and what is open.
 *  It must not ask a clock. */
import { expect, test } from 'vitest';
import type { Overlap } from '../../../../src/contract/schedule/schedule.ts';
import {
  following,
  KEEP_ENDED_MS,
  nextStep,
  type Situation,
} from '../../../../src/features/schedules/decision.ts';
import { readSchedule, type Schedule } from '../../../../src/features/schedules/schedule-record.ts';

const NEXT = 10_000;
const OPEN = 'schedule.s.19700101T000009Z';

function schedule(
  fields: Record<string, unknown> = {},
  spec: Record<string, unknown> = {},
  template: object = {},
): Schedule {
  const written = {
    cron: null,
    time_zone: null,
    every_ms: 1_000,
    anchor_at: 0,
    jitter_ms: 0,
    starts_at: null,
    ends_at: null,
    overlap: 'skip',
    catch_up_ms: 5_000,
    created_at: '2026-11-23T00:00:00.000Z',
    fires: 'directives',
    ...spec,
  };
  const texts = Object.entries({ made: 'm', next_at: NEXT, ...fields }).map(([name, value]) => [
    name,
    String(value),
  ]);
  const read = readSchedule('s', {
    ...Object.fromEntries(texts),
    spec: JSON.stringify(written),
    template: JSON.stringify(template),
  });
  if (read === null) throw new Error('no schedule');
  return read;
}

const at = (now: number, open: readonly string[] = []): Situation => ({ now, open, catchUpMs: 5_000 });
const instant = { at: NEXT, from: 'next' };

test('waits for its instant, and fires it then', () => {
  expect(nextStep(schedule(), at(NEXT - 1))).toEqual({ kind: 'wait', until: NEXT });
  expect(nextStep(schedule(), at(NEXT))).toEqual({ kind: 'fire', instant, cancels: [] });
});

test('cancels what stands for a firing only under a key: a request of somebody else is not cancelled for what has none now', () => {
  const singleton = { key: 'k', when_open: 'join' };
  const others = ['once.0.1', OPEN];
  const cancelled = (template: object) =>
    nextStep(schedule({}, { overlap: 'cancel_running' }, template), at(NEXT, others));
  expect(cancelled({ run: { agent: 'a' } })).toMatchObject({ cancels: [OPEN] });
  expect(cancelled({ directives: [{ type: 'tool_exec' }] })).toMatchObject({ cancels: [OPEN] });
  expect(cancelled({ run: { agent: 'a', singleton } })).toMatchObject({ cancels: others });
  expect(cancelled({ directives: [{ type: 'tool_exec', singleton }] })).toMatchObject({ cancels: others });
});

test.each<[Overlap, object]>([
  ['skip', { kind: 'skip', instant, reason: `${OPEN} is open` }],
  ['queue_one', { kind: 'queue', instant }],
  ['allow', { kind: 'fire', instant, cancels: [] }],
  ['cancel_running', { kind: 'fire', instant, cancels: [OPEN] }],
])('%s, while an earlier request is open', (overlap, step) => {
  expect(nextStep(schedule({}, { overlap }), at(NEXT, [OPEN]))).toEqual(step);
});

test('a queued instant is fired once nothing is open, under its own name; meanwhile others are skipped', () => {
  const queued = schedule({ queued: 9_000 }, { overlap: 'queue_one' });
  expect(nextStep(queued, at(NEXT, [OPEN]))).toMatchObject({ kind: 'skip', instant });
  expect(nextStep(queued, at(NEXT))).toEqual({
    kind: 'fire',
    instant: { at: 9_000, from: 'queued' },
    cancels: [],
  });
  expect(following(queued, { at: 9_000, from: 'queued' }, NEXT)).toMatchObject({
    nextAt: NEXT,
    queuedAt: null,
  });
});

test('an instant that is too late is missed with those after it, up to the first that is not', () => {
  expect(nextStep(schedule(), at(NEXT + 5_000))).toMatchObject({ kind: 'fire' });
  const step = nextStep(schedule(), at(NEXT + 7_500));
  expect(step).toEqual({ kind: 'miss', instant, missed: { until: 12_000, instants: 3, next: 13_000 } });
});

test('what somebody began to fire is fired, also while it is paused, until it is too late', () => {
  const begun = schedule({
    firing: NEXT,
    begun_at: NEXT + 10,
    paused: '{"at":"2026-11-23T00:00:00.000Z","by":null,"note":null}',
  });
  expect(nextStep(begun, at(NEXT + 5_000))).toMatchObject({ kind: 'fire', instant });
  expect(nextStep(begun, at(NEXT + 5_011))).toEqual({ kind: 'lose', instant });
});

test('nobody looks at a paused one; an ended one is removed a week later', () => {
  const paused = schedule({ paused: '{"at":"2026-11-23T00:00:00.000Z","by":null,"note":null}' });
  expect(nextStep(paused, at(NEXT))).toEqual({ kind: 'wait', until: null });
  const ended = schedule({ next_at: '', ended_at: NEXT });
  expect(nextStep(ended, at(NEXT))).toEqual({ kind: 'wait', until: NEXT + KEEP_ENDED_MS });
  expect(nextStep(ended, at(NEXT + KEEP_ENDED_MS))).toEqual({ kind: 'remove' });
});

test('ends with its last instant', () => {
  const last = schedule({}, { ends_at: new Date(NEXT + 999).toISOString() });
  expect(following(last, { at: NEXT, from: 'next' }, NEXT)).toMatchObject({ nextAt: null, ends: true });
});

test('a record of another form is none', () => {
  expect(readSchedule('s', {})).toBe(null);
  expect(readSchedule('s', { spec: '{' })).toBe(null);
  expect(readSchedule('s', { spec: '{"cron":1}' })).toBe(null);
});
