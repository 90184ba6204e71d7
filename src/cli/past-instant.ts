/** A time in the past as a person types it: so long ago, a word, a local time, or an instant.
 *  It must never guess: what has none of these forms is refused, with their list. */
import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Local days and hours, in the zone of the terminal: days back, hour. */
const WORDS: Readonly<Record<string, readonly [daysBack: number, hour: number]>> = {
  today: [0, 0],
  noon: [0, 12],
  yesterday: [1, 0],
};

const AGO = /^(\d{1,6})([smhd])(?: ago)?$/;
const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)$/;

/** The last noon, or 14:30, there was. `2027-01-31` is its beginning in UTC; with a time and without a zone it is local. */
export function pastInstant(text: string, now = new Date()): string {
  const at = agoOf(text, now) ?? wordOf(text, now) ?? clockOf(text, now) ?? instantOf(text);
  if (at !== null) return at.toISOString();
  throw new InvalidArgumentError(
    'It must be a time ago (30m, 2h, 7d), noon, today, yesterday, a local time (14:30), or an instant (2027-01-31T12:00Z).',
  );
}

function agoOf(text: string, now: Date): Date | null {
  const [, count, unit = ''] = AGO.exec(text) ?? [];
  return count === undefined ? null : new Date(now.getTime() - Number(count) * (UNITS[unit] ?? 0));
}

function wordOf(text: string, now: Date): Date | null {
  const word = Object.hasOwn(WORDS, text) ? WORDS[text] : undefined;
  return word === undefined ? null : lastLocal(now, ...word, 0);
}

function clockOf(text: string, now: Date): Date | null {
  const [, hours, minutes] = CLOCK.exec(text) ?? [];
  return hours === undefined ? null : lastLocal(now, 0, Number(hours), Number(minutes));
}

function instantOf(text: string): Date | null {
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? new Date(text) : null;
  return at !== null && Number.isFinite(at.getTime()) ? at : null;
}

/** Of the day before where that is still to come. */
function lastLocal(now: Date, daysBack: number, hours: number, minutes: number): Date {
  const at = new Date(now);
  at.setDate(at.getDate() - daysBack);
  at.setHours(hours, minutes, 0, 0);
  if (at > now) at.setDate(at.getDate() - 1);
  return at;
}
