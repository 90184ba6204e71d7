/** When the dead letters of a group came: the last 24 hours as columns.
 *  It must never be the only way to read it: its text says the same. */
import type { DeadLetterGroup } from '../../../src/contract/directive/dead-letter.ts';
import { stripOf } from './hours.ts';

export function HourStrip({ group, now }: { group: DeadLetterGroup; now: number }) {
  const { hours, older } = stripOf(group, now);
  const most = Math.max(1, ...hours);
  const within = hours.reduce((sum, count) => sum + count, 0);
  const words = `${within} in the last 24 hours, ${older} before`;
  return (
    <span className="dead-strip" role="img" aria-label={words} title={words}>
      {hours.map((count, place) => (
        <span key={place} style={{ height: count === 0 ? '1px' : `${20 + (count / most) * 80}%` }} />
      ))}
    </span>
  );
}
