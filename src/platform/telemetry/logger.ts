// The logger that the folders need; a pino logger fits. Never gets arguments, results, prompts or secrets.

/** Fields first, as pino takes them. */
type LogLine = (fields: Record<string, unknown>, message: string) => void;

export interface Logger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}

const nothing = (): void => {};

export const SILENT: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
