/** Times as people type them.
 *  It must not depend on the zone of the machine: what is local is compared with local parts. */
import { expect, test } from 'vitest';
import { pastInstantOption } from '../../../../src/cli/options/option-values.ts';

const NOW = new Date(2026, 10, 23, 9, 15, 30);
const local = (day: number, hours: number, minutes = 0): string =>
  new Date(2026, 10, day, hours, minutes).toISOString();

test.each([
  ['30m', new Date(NOW.getTime() - 1_800_000).toISOString()],
  ['2h ago', new Date(NOW.getTime() - 7_200_000).toISOString()],
  ['7d', new Date(NOW.getTime() - 604_800_000).toISOString()],
  ['today', local(23, 0)],
  ['yesterday', local(22, 0)],
  ['noon', local(22, 12)],
  ['9:00', local(23, 9)],
  ['14:30', local(22, 14, 30)],
  ['2026-11-22T14:30', local(22, 14, 30)],
  ['2026-11-22', '2026-11-22T00:00:00.000Z'],
  ['2026-11-22T14:30+02:00', '2026-11-22T12:30:00.000Z'],
])('%s', (text, instant) => {
  expect(pastInstantOption(text, NOW)).toBe(instant);
});

test.each(['24:00', '2x', 'tomorrow', 'constructor', '', '12', '99999999d', '2026-99-99'])(
  '%j is refused with all forms',
  (text) => {
    expect(() => pastInstantOption(text, NOW)).toThrow(/30m.*noon, today, yesterday.*14:30.*2027-01-31/);
  },
);
