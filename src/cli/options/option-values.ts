/** Values of options and arguments, and verbs of a group, read from the command line or refused.
 *  Nothing is guessed: a value that does not fit is a usage error. */
import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError } from 'commander';
import { closeNames } from '../../platform/bounds/close-names.ts';
import { InexactJson, parseExactJson } from '../../contract/json/exact-json.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { lengthOfTime, UNIT_MS } from '../../contract/length-of-time.ts';
import { pastInstant } from '../../contract/past-instant.ts';
import { usage } from '../failure.ts';
import { oneLine } from '../terminal.ts';

/** Description of an option that names the tenant of a list. */
export const OF_TENANT = 'those of another tenant, or * for all: for administrators of the tenant default';

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
  if (ms === null) throw new InvalidArgumentError('It must be a length of time, as in 30s, 15m, 6h or 1d.');
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

const QUOTED = `Quote it for the shell, as in: '{"a": 1}'`;

/** `what` was given, in the plural, and `how` it is given as an object. Throws `CliFailure`. */
export function objectArgument(text: string, what = 'The arguments', how = QUOTED): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    if (error instanceof InexactJson) throw usage(`${what} are refused: ${error.message}.`, how);
    throw usage(`${what} are not JSON: ${(error as Error).message}`, how);
  }
  if (isObject(value)) return value;
  throw usage(`${what} are not a JSON object.`, how);
}

/** `-` reads stdin. */
export async function promptOf(given: string): Promise<string> {
  const prompt = given === '-' ? await text(process.stdin) : given;
  if (prompt.trim() !== '') return prompt;
  throw usage('The prompt is empty.', 'Give it in quotes, or - for stdin.');
}
