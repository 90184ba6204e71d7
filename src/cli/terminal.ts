/** The output of a command: results to stdout, everything else to stderr, one live line while something runs.
 *  Files and pipes get whole plain lines: nothing is coloured, overwritten or cut there. */
import { stripVTControlCharacters, styleText } from 'node:util';
import { table } from './table.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export type Paint = (style: Style, text: string) => string;

export interface Terminal {
  /** A line of the command's result. */
  out(line: string): void;
  /** Rows of a list, in columns; a terminal shows the beginning of a line that is too wide. */
  rows(cells: readonly (readonly string[])[]): void;
  /** A line about the command: progress, errors. */
  err(line: string): void;
  /** Writes a part of the result, without a line end. Later lines start on their own line. */
  write(text: string): void;
  /** The same, for stderr. */
  writeErr(text: string): void;
  /** Ends the line that `write` left open, if there is one. */
  endLine(): void;
  /** Whether `status` shows anything: stderr is a terminal. */
  readonly live: boolean;
  /** Whether a person reads stdout live: it is a terminal. */
  readonly liveOut: boolean;
  /** Width of stdout; Infinity where it is no terminal. */
  readonly columns: number;
  /** Replaces the live line; an empty text removes it. */
  status(text: string): void;
  /** For `out`; plain when stdout has no colours. */
  readonly paint: Paint;
  /** For `err` and `status`. */
  readonly paintErr: Paint;
}

/** The part of a tty.WriteStream that is used here, so that any writable fits. */
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

const CLEAR_LINE = '\r\u001B[K';
const DEFAULT_COLUMNS = 80;

/** `styleText` follows NO_COLOR and whether the stream is a terminal. */
export function createTerminal(stdout: Output, stderr: Output): Terminal {
  const live = stderr.isTTY === true;
  const screen = createScreen(stdout, stderr);
  const columns = stdout.isTTY === true ? stdout.columns || DEFAULT_COLUMNS : Infinity;
  return {
    live,
    columns,
    liveOut: stdout.isTTY === true,
    out: (line) => screen.write('out', `${line}\n`, true),
    rows: (cells) => {
      for (const line of table(cells)) screen.write('out', `${cut(line, columns)}\n`, true);
    },
    err: (line) => screen.write('err', `${line}\n`, true),
    write: (text) => screen.write('out', text, false),
    writeErr: (text) => screen.write('err', text, false),
    endLine: () => screen.endLine('out'),
    status: (text) => {
      if (live) screen.status(text);
    },
    paint: (style, text) => styleText(style, text, { stream: stdout }),
    paintErr: (style, text) => styleText(style, text, { stream: stderr }),
  };
}

type Side = 'out' | 'err';

/** The cursor of each stream. If both share a terminal or a pipe, one line must not mix them. */
function createScreen(stdout: Output, stderr: Output) {
  const streams = { out: stdout, err: stderr };
  const shared = stdout.isTTY === true && stderr.isTTY === true;
  const open = { out: false, err: false };
  let shown = false;
  const clear = (): void => {
    if (shown) stderr.write(CLEAR_LINE);
    shown = false;
  };
  const endLine = (side: Side): void => {
    if (open[side]) streams[side].write('\n');
    open[side] = false;
  };
  return {
    endLine,
    write(side: Side, text: string, asLine: boolean): void {
      if (text === '') return;
      clear();
      if (side === 'out') endLine('err');
      else if (shared) endLine('out');
      if (asLine) endLine(side);
      streams[side].write(shownOn(streams[side], text));
      open[side] = !text.endsWith('\n');
    },
    /** Not while a line is open there: removing the live line would remove its text. */
    status(text: string): void {
      if (open.err || (shared && open.out)) return;
      clear();
      // A live line that wraps cannot be removed.
      if (text !== '') stderr.write(shownOn(stderr, cut(text, (stderr.columns || DEFAULT_COLUMNS) - 1)));
      shown = text !== '';
    },
  };
}

/** The beginning of a line that is wider than `columns`, with its colours and an ellipsis. */
export function cut(line: string, columns: number): string {
  if (stripVTControlCharacters(line).length <= columns) return line;
  let left = Math.max(1, columns - 1);
  let shown = '';
  // oxlint-disable-next-line no-control-regex
  for (const part of line.split(/(\u001B\[\d+m)/)) {
    const isColour = part.startsWith('\u001B');
    shown += isColour ? part : part.slice(0, left);
    if (!isColour && left > 0 && part.length >= left) shown += '…';
    if (!isColour) left = Math.max(0, left - part.length);
  }
  return shown;
}

/** The styles of `Paint`, and what a terminal obeys: controls, and marks that reverse the order of letters. */
const TERMINAL_COMMANDS =
  // oxlint-disable-next-line no-control-regex
  /\u001B\[(?:1|2|22|3[1236]|39)m|[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g;

/** A last safeguard: a terminal gets no commands but our colours, a file gets the text unchanged. */
function shownOn(stream: Output, text: string): string {
  return stream.isTTY === true
    ? text.replace(TERMINAL_COMMANDS, (found) => (found.length > 1 ? found : '\uFFFD'))
    : text;
}

/** Text from a tool or a server on a terminal: control characters could move the cursor or fake output. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g, '\uFFFD');
}

/** JSON without anything that a terminal obeys; its value is the same. */
export function plainJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, null, indent) ?? '';
  return json.replaceAll(
    /[\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The same in one line. */
export function oneLine(text: string, limit = 160): string {
  const line = printable(text.replaceAll(/\s+/g, ' ').trim());
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}

/** Text as one word of a shell. */
export function shellWord(id: string): string {
  const shown = oneLine(id, 128);
  return /^[\w.:@%+=/~-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
}
