/** Dead letters of a group by hour.
 *  It must never read a clock. */
import type { DeadLetterGroup } from '../../../src/contract/directive/dead-letter.ts';

const HOUR_MS = 3_600_000;
const SHOWN_HOURS = 24;

/** The counts of the last 24 hours, the oldest first, and how many came before. */
export function stripOf(
  { hours, count }: Pick<DeadLetterGroup, 'hours' | 'count'>,
  now: number,
): { readonly hours: readonly number[]; readonly older: number } {
  const shown = Array.from({ length: SHOWN_HOURS }, () => 0);
  const thisHour = Math.floor(now / HOUR_MS);
  let within = 0;
  for (const { from, count: ofHour } of hours) {
    const back = Math.max(0, thisHour - Math.floor(Date.parse(from) / HOUR_MS));
    if (back >= SHOWN_HOURS) continue;
    shown[SHOWN_HOURS - 1 - back] = (shown[SHOWN_HOURS - 1 - back] ?? 0) + ofHour;
    within += ofHour;
  }
  return { hours: shown, older: count - within };
}

/** The choices of a time, as `since` of the list; '' = any time. */
export const SPANS = [
  ['', 'any time'],
  ['1', 'last hour'],
  ['24', 'last 24 hours'],
  ['168', 'last 7 days'],
] as const;

/** `hours` as in `SPANS`; rounded to the minute, so that the same question has the same answer for a while. */
export function sinceOf(hours: string, now: number): string | null {
  const count = Number(hours);
  if (!(count > 0 && count <= 10_000)) return null;
  const at = now - count * HOUR_MS;
  return new Date(at - (at % 60_000)).toISOString();
}
