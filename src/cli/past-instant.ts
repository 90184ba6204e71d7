/** The option of a time in the past.
 *  It must never guess: what has none of the forms is refused, with their list. */
import { InvalidArgumentError } from 'commander';
import { pastInstant } from '../contract/past-instant.ts';

/** As in `pastInstant`; also `2h ago`. */
export function pastInstantOption(text: string, now = new Date()): string {
  const at = pastInstant(text.replace(/^(\d{1,6}[smhd]) ago$/, '$1'), now);
  if (at !== null) return at;
  throw new InvalidArgumentError(
    'It must be a time ago (30m, 2h, 7d), noon, today, yesterday, a local time (14:30), or an instant (2027-01-31T12:00Z).',
  );
}
