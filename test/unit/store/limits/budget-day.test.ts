// The days of a time zone: dense, named as people there name them, also where clocks change.
// Must never depend on the time zone of the machine.
import { describe, expect, test } from 'vitest';
import { createBudgetDays, daysAround } from '../../../../src/store/limits/budget-day.ts';

const hours = ({ beginsAt, endsAt }: { beginsAt: number; endsAt: number }): number =>
  (endsAt - beginsAt) / 3_600;

describe('the days around an instant', () => {
  test.each([
    [
      'UTC',
      '2026-10-25T12:00:00Z',
      ['2026-10-24', '2026-10-25', '2026-10-26', '2026-10-27'],
      [24, 24, 24, 24],
    ],
    [
      'Europe/Berlin',
      '2026-10-25T12:00:00Z',
      ['2026-10-24', '2026-10-25', '2026-10-26', '2026-10-27'],
      [24, 25, 24, 24],
    ],
    [
      'Europe/Berlin',
      '2027-03-28T12:00:00Z',
      ['2027-03-27', '2027-03-28', '2027-03-29', '2027-03-30'],
      [24, 23, 24, 24],
    ],
    [
      'Australia/Lord_Howe',
      '2026-10-03T18:00:00Z',
      ['2026-10-03', '2026-10-04', '2026-10-05', '2026-10-06'],
      [24, 23.5, 24, 24],
    ],
    [
      'Pacific/Kiritimati',
      '2026-12-31T12:00:00Z',
      ['2026-12-31', '2027-01-01', '2027-01-02', '2027-01-03'],
      [24, 24, 24, 24],
    ],
  ])('of %s at %s', (timeZone, at, names, lengths) => {
    const { days } = daysAround(Date.parse(at), timeZone);
    expect(days.map(({ name }) => name)).toEqual(names);
    expect(days.map(hours)).toEqual(lengths);
    for (const [index, day] of days.slice(1).entries()) expect(day.beginsAt).toBe(days[index]?.endsAt);
    expect(days[1]?.beginsAt).toBeLessThanOrEqual(Date.parse(at) / 1_000);
    expect(days[1]?.endsAt).toBeGreaterThan(Date.parse(at) / 1_000);
  });

  test('hold the day of every second of it', () => {
    const midnight = Date.parse('2026-11-22T23:00:00Z');
    const today = (at: number) => daysAround(at, 'Europe/Berlin').days[1]?.name;
    expect([today(midnight - 1_000), today(midnight)]).toEqual(['2026-11-22', '2026-11-23']);
  });

  test('are kept until the day is over', () => {
    const daysOf = createBudgetDays('UTC');
    const first = daysOf(Date.parse('2026-11-22T00:00:00Z'));
    expect(daysOf(Date.parse('2026-11-22T23:59:59.999Z'))).toBe(first);
    expect(daysOf(Date.parse('2026-11-23T00:00:00Z')).days[1]?.name).toBe('2026-11-23');
    // A clock that is set back.
    expect(daysOf(Date.parse('2026-11-21T00:00:00Z')).days[1]?.name).toBe('2026-11-21');
  });
});
