/** The part of a logger that this folder uses; a pino logger fits.
 *  It must never be asked to log arguments or results. */

type LogLine = (fields: Record<string, unknown>, message: string) => void;

export interface McpLogger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
}
