/** Values of options, read from the command line or refused.
 *  It must never guess: a value that does not fit is a usage error. */
import { InvalidArgumentError } from 'commander';

export function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

export function urlOf(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('It must be a URL, as in http://127.0.0.1:7420.');
}

export function decimal(text: string): number {
  if (/^\d{1,6}(\.\d{1,6})?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number, as in 0.7.');
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds, of `30s`, `15m`, `6h` or `1d`. */
export function lengthOfTime(text: string): number {
  const { count = '', unit = '' } = /^(?<count>\d{1,6})(?<unit>[smhd])$/.exec(text)?.groups ?? {};
  if (count === '') throw new InvalidArgumentError('must be a length of time, as in 30s, 15m, 6h or 1d.');
  return Number(count) * (UNITS_MS[unit] ?? 0);
}
