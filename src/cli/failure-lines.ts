/** How the error of a directive or a run is told at the terminal: what it is, then each place and detail.
 *  It must never tell it on stdout: that is for results. */
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { errorText } from './signal-gist.ts';
import { oneLine, type Terminal } from './terminal.ts';

export function tellFailure(terminal: Terminal, error: ErrorEnvelope): void {
  terminal.err(`${terminal.paintErr('red', 'failed')} ${errorText(error)}`);
  for (const line of detailLines(error.details)) terminal.err(`       ${line}`);
}

/** The places that were wrong, each on its line; other details as JSON. */
function detailLines(details: Record<string, unknown>): string[] {
  const { errors, ...others } = details;
  const places = (Array.isArray(errors) ? errors : []).map((error: unknown) => {
    const { path, message } = error as { path?: unknown; message?: unknown };
    return oneLine(`${String(path)}: ${String(message)}`, 500);
  });
  return Object.keys(others).length === 0 ? places : [...places, oneLine(JSON.stringify(others), 1_000)];
}
