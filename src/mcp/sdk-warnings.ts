/** Warnings that the MCP SDK writes to the console, with texts of servers and authorization servers: as lines of the log, which escapes them.
 *  It must never log a cause that may repeat a secret, nor more lines than its bound. */
import { format } from 'node:util';
import type { Logger } from '../platform/telemetry/logger.ts';

const MARK = '[mcp-sdk] ';
/** An authorization server may repeat a code or token here; the end of the login has the reason. */
const CAUSE = / Cause: .*$/s;
/** A server may list thousands of tools that the SDK leaves out, again and again. */
const MOST_IN_MINUTE = 20;
const MINUTE_MS = 60_000;
/** A server chooses the names of its tools. Characters. */
const LONGEST = 1_000;

let logger: Logger | null = null;
let [minuteAt, lines] = [Number.NEGATIVE_INFINITY, 0];

/** From now on the warnings of this process go to this logger. Other texts stay on the console. */
export function logSdkWarnings(to: Logger): void {
  if (logger === null) {
    const { warn } = globalThis.console;
    globalThis.console.warn = (...given: unknown[]) => {
      const [first] = given;
      if (typeof first === 'string' && first.startsWith(MARK)) log(format(...given).slice(MARK.length));
      else warn(...given);
    };
  }
  logger = to;
}

function log(text: string): void {
  const now = performance.now();
  if (now - minuteAt >= MINUTE_MS) [minuteAt, lines] = [now, 0];
  lines += 1;
  if (lines > MOST_IN_MINUTE) return;
  const warning = text.replace(CAUSE, '').slice(0, LONGEST);
  const isLast = lines === MOST_IN_MINUTE;
  logger?.warn(
    { warning },
    `the MCP SDK warns${isLast ? '; more warnings of this minute are left out' : ''}`,
  );
}
