// Durations and instants as options take them: `90s`, `10m`, `8h`, `3d`, or milliseconds; RFC 3339.
// Must never guess: a value that does not fit is a usage error.
import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds. */
export function duration(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,12})(ms|s|m|h|d|)$/.exec(text) ?? [];
  if (count !== '') return Number(count) * (UNITS[unit] ?? 1);
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
  const unit = Object.entries(UNITS).findLast(([, size]) => ms >= size && ms % size === 0);
  return unit === undefined || unit[0] === '' ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}
