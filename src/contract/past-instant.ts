// A time in the past as a person types it: a length of time, a word, a local time, or an instant. Never guesses: a text
// of another form is null, and the caller names the forms.
import { lengthOfTime } from './length-of-time.ts';

/** Local days and hours: days back, hour. */
const WORDS: Readonly<Record<string, readonly [daysBack: number, hour: number]>> = {
  today: [0, 0],
  noon: [0, 12],
  yesterday: [1, 0],
};

const AGO = /^(?<count>\d{1,6})(?<unit>[smhd])$/;
const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)$/;

/** RFC 3339 in UTC. The last noon, or 14:30, there was. `2027-01-31` is its beginning in UTC; with a time and without a zone it is local. */
export function pastInstant(text: string, now: Date): string | null {
  const at = agoOf(text, now) ?? wordOf(text, now) ?? clockOf(text, now) ?? instantOf(text);
  return at?.toISOString() ?? null;
}

function agoOf(text: string, now: Date): Date | null {
  const ms = lengthOfTime(text, AGO);
  return ms === null ? null : new Date(now.getTime() - ms);
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

/** Local time today, or the day before if that is still to come. */
function lastLocal(now: Date, daysBack: number, hours: number, minutes: number): Date {
  const at = new Date(now);
  at.setDate(at.getDate() - daysBack);
  at.setHours(hours, minutes, 0, 0);
  if (at > now) at.setDate(at.getDate() - 1);
  return at;
}
