/** Values of options, read from the command line or refused.
 *  It must never guess: a value that does not fit is a usage error. */
import { InvalidArgumentError } from 'commander';
import { lengthOfTime } from '../contract/length-of-time.ts';

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

const INTERVAL = /^(?<count>\d{1,6})(?<unit>[smhd])$/;

/** Milliseconds, of `30s`, `15m`, `6h` or `1d`. */
export function interval(text: string): number {
  const ms = lengthOfTime(text, INTERVAL);
  if (ms === null) throw new InvalidArgumentError('must be a length of time, as in 30s, 15m, 6h or 1d.');
  return ms;
}
