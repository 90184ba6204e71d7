// Durations and instants as options take them: `90s`, `10m`, `8h`, `3d`, or milliseconds; RFC 3339.
// Must never guess: a value that does not fit is a usage error.
import { InvalidArgumentError } from 'commander';
import { lengthOfTime, UNIT_MS } from '../contract/length-of-time.ts';

const DURATION = /^(?<count>\d{1,12})(?<unit>ms|s|m|h|d|)$/;

/** Milliseconds. */
export function duration(text: string): number {
  const ms = lengthOfTime(text, DURATION);
  if (ms !== null) return ms;
  throw new InvalidArgumentError('It must be a duration, as in 90s, 10m, 8h or 3d.');
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** RFC 3339, in UTC. */
export function instantOption(text: string): string {
  if (INSTANT.test(text) && Number.isFinite(Date.parse(text))) return new Date(text).toISOString();
  throw new InvalidArgumentError(
    'It must be an instant with Z or an offset, as in 2027-01-31T07:30:00+01:00.',
  );
}

/** As it is typed: `8h`, `90s`. */
export function durationWords(ms: number): string {
  const unit = Object.entries(UNIT_MS).findLast(([, size]) => ms >= size && ms % size === 0);
  return unit === undefined || unit[0] === '' ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}
