/** How the error of a directive or a run is told at the terminal: what it is, then each place and detail.
 *  It must never tell it on stdout: that is for results. */
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { errorText } from './signal-gist.ts';
import { oneLine, plainJson, type Terminal } from './terminal.ts';

export function tellFailure(terminal: Terminal, error: ErrorEnvelope): void {
  terminal.err(`${terminal.paintErr('red', 'failed')} ${errorText(error)}`);
  for (const line of detailLines(error.details)) terminal.err(`       ${line}`);
}

/** The places that were wrong, each on its line; other details as JSON. */
function detailLines(details: Record<string, unknown>): string[] {
  const { errors, ...others } = details;
  const places = (Array.isArray(errors) ? errors : []).map((error: unknown) => {
    // A tool may give its errors any form.
    if (!isPlace(error)) return oneLine(plainJson(error), 500);
    const { path, message } = error;
    return oneLine(`${path}: ${message}`, 500);
  });
  return Object.keys(others).length === 0 ? places : [...places, oneLine(JSON.stringify(others), 1_000)];
}

function isPlace(error: unknown): error is { path: string; message: string } {
  const { path, message } = Object(error) as { path?: unknown; message?: unknown };
  return typeof path === 'string' && typeof message === 'string';
}
