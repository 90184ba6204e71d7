// The log of a process: one JSON object a line, or a readable line where a person looks at it.
// Must never write a secret, nor let a text from outside move a terminal's cursor.
import { isatty } from 'node:tty';
import { type Logger as PinoLogger, pino } from 'pino';
import { jsonSafe } from '../contract/json-safe.ts';
import { redact } from '../contract/redaction.ts';
import { plainLine, readableLine } from './log-line.ts';

export interface LogOptions {
  readonly level: string;
  /** `auto`: `text` on a terminal, else `json`. */
  readonly format: 'auto' | 'json' | 'text';
}

export interface LogOutput {
  write(text: string): unknown;
}

const STDERR = 2;
/** A line that is longer helps nobody, and a storm of them fills a disk. */
const BOUNDS = { depth: 6, entries: 50, characters: 2_048, values: 500 };

/** To stderr; stdout belongs to the verbs. */
export function openLog({ level, format }: LogOptions): PinoLogger {
  const isTerminal = isatty(STDERR);
  const isText = format === 'text' || (format === 'auto' && isTerminal);
  const output = pino.destination({ fd: STDERR, sync: false });
  return logOn(output, { level, isText, hasColours: isText && isTerminal });
}

export function logOn(
  output: LogOutput,
  { level, isText, hasColours }: { level: string; isText: boolean; hasColours: boolean },
): PinoLogger {
  const shown = (line: string): string => (isText ? readableLine(line, hasColours) : plainLine(line));
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: loggable },
    // `loggable` has seen to it.
    serializers: { err: (value: unknown) => value },
  };
  return pino(options, { write: (line: string) => void output.write(shown(line)) });
}

/** Bounded, with `[REDACTED]` in place of what keys of secrets hold. */
function loggable(fields: Record<string, unknown>): Record<string, unknown> {
  const plain = Object.entries(fields).map(([name, value]) => [
    name,
    value instanceof Error ? errorFields(value) : value,
  ]);
  return redact(jsonSafe(Object.fromEntries(plain), BOUNDS)) as Record<string, unknown>;
}

function errorFields({ name, message, stack }: Error): Record<string, unknown> {
  return { type: name, message, stack };
}
