/** Cron expressions around the springs in which the clock skips a time, against the clock on the wall, read minute by minute.
 *  It must not ask croner, nor anything of src, what to expect. */
import { describe, expect, test } from 'vitest';
import { cronTimes } from '../../../../src/features/schedules/cron.ts';

const MINUTE_MS = 60_000;
const AROUND = 27 * 60;

/** Each with the first instant after its gap. */
const SPRINGS = [
  ['Europe/Berlin', '2027-03-28T01:00Z'],
  // The gap is before midnight.
  ['America/Nuuk', '2027-03-28T01:00Z'],
  // At midnight.
  ['Africa/Cairo', '2027-04-29T22:00Z'],
  // Half an hour.
  ['Australia/Lord_Howe', '2027-10-02T15:30Z'],
] as const;

const EXPRESSIONS = [
  '30 2,14 * * *',
  '0,30 2 * * *',
  '*/15 2 * * *',
  '5 2,4 * * *',
  '59 23 * * *',
  '*/10 2-3 * * *',
  '0 */2 * * *',
  '15 * * * *',
  '*/20 0,23 * * *',
  '30 2 * * 0',
];

/** What the wall shows at each minute, as if it were UTC. */
function walls(timeZone: string, changeAt: number): { at: number; wall: number }[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  return Array.from({ length: 2 * AROUND }, (_, minute) => {
    const at = changeAt + (minute - AROUND) * MINUTE_MS;
    return { at, wall: Date.parse(`${format.format(at).replace(' ', 'T')}Z`) };
  });
}

/** Whether one field, as `1,5`, `2-3`, `*`, `*` by steps, has the value. */
function has(field: string, value: number): boolean {
  return field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [from = 0, to = from] = range === '*' ? [0, 59] : range.split('-').map(Number);
    return value >= from && value <= to && (value - from) % Number(step) === 0;
  });
}

function expected(expression: string, shown: readonly { at: number; wall: number }[]): string[] {
  const [minute = '', hour = '', , , weekday = ''] = expression.split(' ');
  const fits = (wall: number): boolean => {
    const date = new Date(wall);
    return (
      has(minute, date.getUTCMinutes()) && has(hour, date.getUTCHours()) && has(weekday, date.getUTCDay())
    );
  };
  return shown.slice(1).flatMap(({ at, wall }, before) => {
    const last = shown[before]?.wall ?? wall;
    const skipped = Array.from(
      { length: (wall - last) / MINUTE_MS - 1 },
      (_, n) => last + (n + 1) * MINUTE_MS,
    );
    const counts = hour !== '*' || skipped.length % 60 !== 0;
    return fits(wall) || (counts && skipped.some(fits)) ? [new Date(at).toISOString()] : [];
  });
}

describe.each(SPRINGS)('%s', (timeZone, change) => {
  const shown = walls(timeZone, Date.parse(change));

  test.each(EXPRESSIONS)('%s', (expression) => {
    const times = cronTimes(expression, timeZone);
    const found: string[] = [];
    let at = times.next(shown[0]?.at ?? 0);
    while (at !== null && at <= (shown.at(-1)?.at ?? 0)) {
      found.push(new Date(at).toISOString());
      at = times.next(at);
    }
    expect(found).toEqual(expected(expression, shown));
  });
});
