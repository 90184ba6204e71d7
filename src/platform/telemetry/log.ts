// The log of a process: one JSON object a line, or a readable line on a terminal. Never writes a secret, nor lets a
// foreign text move a terminal's cursor.
import { isatty } from 'node:tty';
import { type LogFn, type Logger as PinoLogger, pino } from 'pino';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import { redact } from '../../contract/json/redaction.ts';
import { createKnownSecrets, type HideText, type KnownSecrets } from '../../contract/json/secret-text.ts';
import { plainLine, readableLine } from './log-line.ts';

export interface LogOptions {
  readonly level: string;
  /** `auto`: `text` on a terminal, else `json`. */
  readonly format: 'auto' | 'json' | 'text';
  /** The secrets of the process, which no line shows. */
  readonly secrets: KnownSecrets;
}

export interface LogOutput {
  write(text: string): unknown;
}

const STDERR = 2;
/** Bounds of a line: longer ones do not help, and many of them fill a disk. */
const BOUNDS = { depth: 6, entries: 50, characters: 2_048, values: 500 };

/** To stderr; stdout belongs to the verbs. */
export function openLog({ level, format, secrets }: LogOptions): PinoLogger {
  const isTerminal = isatty(STDERR);
  const isText = format === 'text' || (format === 'auto' && isTerminal);
  const output = pino.destination({ fd: STDERR, sync: false });
  return logOn(output, { level, isText, hasColours: isText && isTerminal, secrets });
}

export function logOn(
  output: LogOutput,
  {
    level,
    isText,
    hasColours,
    secrets = createKnownSecrets(),
  }: { level: string; isText: boolean; hasColours: boolean; secrets?: KnownSecrets },
): PinoLogger {
  const shown = (line: string): string => (isText ? readableLine(line, hasColours) : plainLine(line));
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) => loggable(fields, secrets),
    },
    hooks: {
      logMethod(this: PinoLogger, args: Parameters<LogFn>, method: LogFn): void {
        method.apply(
          this,
          args.map((arg) => (typeof arg === 'string' ? secrets.hide(arg) : arg)) as typeof args,
        );
      },
    },
    // `loggable` has seen to it.
    serializers: { err: (value: unknown) => value },
  };
  return pino(options, { write: (line: string) => void output.write(shown(line)) });
}

/** Bounded, with `[REDACTED]` in place of known secrets and of what keys of secrets hold. */
function loggable(fields: Record<string, unknown>, { hide, hideIn }: KnownSecrets): Record<string, unknown> {
  const plain = Object.entries(fields).map(([name, value]) => [
    name,
    // Before it is cut: the beginning of a secret would not be recognised.
    typeof value === 'string' ? hide(value) : value instanceof Error ? errorFields(value, hide) : value,
  ]);
  return hideIn(redact(jsonSafe(Object.fromEntries(plain), BOUNDS))) as Record<string, unknown>;
}

function errorFields({ name, message, stack = '' }: Error, hide: HideText): Record<string, unknown> {
  return { type: name, message: hide(message), stack: hide(stack) };
}
