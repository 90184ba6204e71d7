/** The instants of schedules: cron over changes of the clock, intervals, jitter, what was missed.
 *  It must not depend on the time zone of the machine. */
import { describe, expect, test } from 'vitest';
import { cronTimes } from '../../../../src/features/schedules/cron.ts';
import {
  instantName,
  jitterOf,
  missedInstants,
  nextInstant,
  type Timing,
} from '../../../../src/features/schedules/instants.ts';

const TIMING: Timing = {
  cron: null,
  timeZone: null,
  everyMs: null,
  anchorAt: 0,
  jitterMs: 0,
  startsAt: null,
  endsAt: null,
};

function instants(timing: Partial<Timing>, after: string, count: number): string[] {
  const found: string[] = [];
  let at: number | null = Date.parse(after);
  while (found.length < count) {
    at = nextInstant({ ...TIMING, ...timing }, at);
    if (at === null) break;
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

describe('cron over a change of the clock', () => {
  test.each([
    [
      'Berlin, spring: a skipped time is when the clock has been set forward',
      '30 2 * * *',
      'Europe/Berlin',
      '2027-03-27T00:00Z',
      ['2027-03-27T01:30', '2027-03-28T01:00', '2027-03-29T00:30'],
    ],
    [
      'Berlin, autumn: a fixed hour counts the first time',
      '0 2-3 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:00', '2026-10-25T02:00', '2026-10-26T01:00'],
    ],
    [
      'Berlin, autumn: every half hour is also in the second one',
      '*/30 * * * *',
      'Europe/Berlin',
      '2026-10-24T23:30Z',
      ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
    ],
    [
      'Lord Howe, spring: half an hour is skipped',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-02T20:00Z',
      ['2026-10-03T15:30', '2026-10-04T15:15', '2026-10-05T15:15'],
    ],
    [
      'Lord Howe, autumn: half an hour comes twice',
      '*/15 1 * * *',
      'Australia/Lord_Howe',
      '2027-04-03T14:20Z',
      ['2027-04-03T14:30', '2027-04-03T14:45', '2027-04-04T14:30'],
    ],
    [
      'Cairo, spring: midnight is skipped',
      '30 0 * * *',
      'Africa/Cairo',
      '2027-04-28T12:00Z',
      ['2027-04-28T22:30', '2027-04-29T22:00', '2027-04-30T21:30'],
    ],
    [
      'Cairo, autumn: the last hour of the day comes twice',
      '*/20 23 * * *',
      'Africa/Cairo',
      '2026-10-29T12:00Z',
      ['2026-10-29T20:00', '2026-10-29T20:20', '2026-10-29T20:40', '2026-10-30T21:00'],
    ],
  ])('%s', (_, cron, timeZone, after, expected) => {
    expect(instants({ cron, timeZone }, after, expected.length)).toEqual(expected);
  });
});

describe('an expression', () => {
  test.each(['0 0 30 2 *', '* * 31 2 *', '0 0 31 4,6,9,11 *', '59 23 31W 2 *'])('%s never fires', (cron) => {
    expect(instants({ cron, timeZone: 'UTC' }, '2026-11-23T00:00Z', 1)).toEqual([]);
  });

  test.each([
    '@daily',
    '2027-01-01T00:00:00',
    '* * * *',
    '99 * * * *',
    '0 0 1 1 * 2027 x',
    '',
    '__proto__',
    '* * * * *\n* * * * *',
  ])('%j is none', (cron) => {
    expect(() => cronTimes(cron, 'UTC')).toThrow(/is not a cron expression/);
  });

  test('of seconds in a fixed hour does not search through the hour that comes twice', () => {
    const found = instants({ cron: '* * 2 * * *', timeZone: 'Europe/Berlin' }, '2026-10-25T00:59:58Z', 2);
    expect(found).toEqual(['2026-10-25T00:59', '2026-10-26T01:00']);
  });
});

describe('an interval', () => {
  const everyMs = 60_000;

  test('is counted from its anchor, whenever it is asked', () => {
    const anchorAt = Date.parse('2026-11-23T00:00:30Z');
    const expected = ['2026-11-23T00:01', '2026-11-23T00:02'];
    expect(instants({ everyMs, anchorAt }, '2026-11-23T00:00:31Z', 2)).toEqual(expected);
    expect(nextInstant({ ...TIMING, everyMs, anchorAt }, anchorAt + everyMs - 1)).toBe(anchorAt + everyMs);
  });

  test('begins at its start and ends at its end', () => {
    const [startsAt, endsAt] = [Date.parse('2026-12-01T00:00Z'), Date.parse('2026-12-01T00:01Z')];
    const found = instants({ everyMs, anchorAt: startsAt, startsAt, endsAt }, '2026-11-23T00:00Z', 9);
    expect(found).toEqual(['2026-12-01T00:00', '2026-12-01T00:01']);
  });
});

test('what was missed is counted, and goes on with the first that was not', () => {
  const timing = { ...TIMING, everyMs: 1_000 };
  expect(missedInstants(timing, 5_000, 9_500)).toEqual({ until: 9_000, instants: 5, next: 10_000 });
  expect(missedInstants({ ...timing, endsAt: 7_000 }, 5_000, 9_500)).toEqual({
    until: 7_000,
    instants: 3,
    next: null,
  });
  const [first, before] = [Date.parse('2026-11-23T01:00Z'), Date.parse('2026-11-23T03:30Z')];
  expect(missedInstants({ ...TIMING, cron: '0 * * * *', timeZone: 'UTC' }, first, before)).toEqual({
    until: Date.parse('2026-11-23T03:00Z'),
    instants: 3,
    next: Date.parse('2026-11-23T04:00Z'),
  });
});

test('the jitter of an instant is the same everywhere, and within its bound', () => {
  const drawn = Array.from({ length: 200 }, (_, at) => jitterOf('s', at * 1_000, 500));
  expect(drawn).toEqual(drawn.map((_, at) => jitterOf('s', at * 1_000, 500)));
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...drawn)).toBeLessThanOrEqual(500);
  expect(new Set(drawn).size).toBeGreaterThan(100);
  expect(jitterOf('s', 1, 0)).toBe(0);
});

test('the name of an instant is part of an id', () => {
  expect(instantName(Date.parse('2027-03-28T01:00:00Z'))).toBe('20270328T010000Z');
});
