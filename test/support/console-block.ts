/** The commands of a page and the output it shows, compared with the real output.
 *  It must not overlook a word: only what differs from run to run, and what the page replaces by `…`. */
export interface Step {
  readonly command: string;
  /** null: a page that shows no output. */
  readonly output: string | null;
}

/** Each command of an `sh` block; a line that ends with `\` continues. */
export function shellSteps(code: string): Step[] {
  return joined(code)
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((command) => ({ command, output: null }));
}

/** Each command of a `console` block with what follows it. */
export function consoleSteps(code: string): Step[] {
  const [before = '', ...parts] = joined(code).split(/^\$ /m);
  if (before.trim() !== '') throw new Error(`a console block begins with "$ ", not with ${before}`);
  return parts.map((part) => {
    const [command = '', ...output] = part.split('\n');
    return { command, output: output.join('\n').trim() };
  });
}

function joined(code: string): string {
  return code.replaceAll(/\\\n\s*/g, '');
}

const LEFT_OUT = '…';
/** What differs in every run: times of day, instants, ids, durations. */
const VARIABLE: readonly RegExp[] = [
  /\d{4}-\d{2}-\d{2}T[\d:.]+Z/g,
  /\d{2}:\d{2}:\d{2}\.\d{3}/g,
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
  /\b\d+(\.\d+)? (ms|s)\b/g,
];

/** What a terminal overwrites, and a pipe gets as lines: the state of a call while it runs. */
const OVERWRITTEN = /^\S+ (running|waits: .*|retry \d+\/\d+ in .*)\n/gm;

/** White space does not count, since a page breaks long lines; nor the order of lines, where calls run at once. */
export function shows(expected: string, actual: string): boolean {
  const seen = actual.replaceAll(OVERWRITTEN, '');
  return pattern(expected).test(compact(seen)) || showsLines(expected, seen);
}

function showsLines(expected: string, actual: string): boolean {
  const wanted = expected.split('\n').filter((line) => line.trim() !== '');
  const shown = wanted.filter((line) => line.trim() !== LEFT_OUT).map(pattern);
  const left = actual
    .split('\n')
    .map(compact)
    .filter((line) => line !== '');
  for (const each of shown) {
    const found = left.findIndex((line) => each.test(line));
    if (found < 0) return false;
    left.splice(found, 1);
  }
  return left.length === 0 || shown.length < wanted.length;
}

function pattern(text: string): RegExp {
  const parts = text
    .split(LEFT_OUT)
    .map((part) => compact(part).replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

function compact(text: string): string {
  return VARIABLE.reduce((masked, each) => masked.replaceAll(each, '#'), text).replaceAll(/\s+/g, '');
}
