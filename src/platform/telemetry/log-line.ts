// One line of the log as a person reads it, and as a program does.
// Must never contain what a terminal obeys, except our own colours.
import { styleText } from 'node:util';
import { withoutCredentials } from '../../contract/json/secret-text.ts';

/** C0 without tab and line feed, DEL, C1, and marks that reverse the order of letters. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g;

const STYLES = {
  trace: 'dim',
  debug: 'dim',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
} as const;

interface LoggedLine {
  readonly time: string;
  readonly level: keyof typeof STYLES;
  readonly msg?: string;
  readonly [field: string]: unknown;
}

/** JSON keeps its value: what a terminal would obey is written as an escape. */
export function plainLine(json: string): string {
  return withoutCredentials(json).replaceAll(
    CONTROLS,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `12:30:05.120 WARN  message  field=value`, then the stack of an error, indented. */
export function readableLine(json: string, hasColours: boolean): string {
  const { time, level, msg = '', ...fields } = JSON.parse(json) as LoggedLine;
  const paint = (text: string, style: (typeof STYLES)[keyof typeof STYLES]): string =>
    hasColours ? styleText(style, text, { validateStream: false }) : text;
  const stacks: string[] = [];
  const pairs = Object.entries(fields).map(([name, value]) => {
    const { stack, ...rest } = Object(value) as { stack?: unknown };
    if (typeof stack === 'string') stacks.push(stack);
    return `${visible(name)}=${visible(valueText(typeof stack === 'string' ? rest : value))}`;
  });
  const head = [
    paint(visible(time.slice(11, 23)), 'dim'),
    paint(level.toUpperCase().padEnd(5), STYLES[level]),
    visible(msg),
  ].join(' ');
  const line = pairs.length === 0 ? head : `${head}  ${paint(pairs.join(' '), 'dim')}`;
  return `${[line, ...stacks.map(indented)].join('\n')}\n`;
}

function valueText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

function visible(text: string): string {
  return withoutCredentials(text)
    .replaceAll(CONTROLS, '\uFFFD')
    .replaceAll(/[\t\n]/g, ' ');
}

function indented(stack: string): string {
  return stack
    .split('\n')
    .map((line) => `    ${visible(line)}`)
    .join('\n');
}
