/** Values of options and names of verbs, read from the command line or refused.
 *  Nothing is guessed: a value that does not fit is a usage error. */
import { type Command, InvalidArgumentError } from 'commander';
import { closeNames } from '../bounds/close-names.ts';
import { lengthOfTime } from '../contract/length-of-time.ts';
import { pastInstant } from '../contract/past-instant.ts';
import { usage } from './failure.ts';
import { oneLine } from './terminal.ts';

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

/** A time in the past in one of the forms of `pastInstant`; also `2h ago`. */
export function pastInstantOption(text: string, now = new Date()): string {
  const at = pastInstant(text.replace(/^(\d{1,6}[smhd]) ago$/, '$1'), now);
  if (at !== null) return at;
  throw new InvalidArgumentError(
    'It must be a time ago (30m, 2h, 7d), noon, today, yesterday, a local time (14:30), or an instant (2027-01-31T12:00Z).',
  );
}

/** The verb of a group that a line without one means. A mistyped verb reaches it as an operand, and is refused. */
export function defaultVerb(group: Command, name: string): Command {
  const verb = group.command(name, { isDefault: true }).allowExcessArguments();
  return verb.hook('preAction', (_, { args: [asked] }) => {
    if (asked === undefined) return;
    const verbs = group.commands.map((each) => each.name());
    const close = closeNames(asked, verbs);
    const question = close.length === 0 ? '' : `Did you mean ${close.join(' or ')}? `;
    const what = `\`${group.name()}\` has no verb "${oneLine(asked, 80)}".`;
    throw usage(what, `${question}There are ${verbs.join(', ')}.`);
  });
}
