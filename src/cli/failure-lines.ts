/** How the error of a directive or a run is told at the terminal: what it is, each place and detail, what to do, where to look.
 *  It must never tell it on stdout: that is for results. */
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { errorText } from './signal-gist.ts';
import { oneLine, plainJson, type Terminal } from './terminal.ts';

/** What failed: a directive, or without one the run of a request. */
export interface Failed {
  readonly requestId: string;
  readonly id?: string;
}

export function tellFailure(terminal: Terminal, error: ErrorEnvelope, failed: Failed): void {
  terminal.err(`${terminal.paintErr('red', 'failed')} ${errorText(error)}`);
  for (const line of detailLines(error.details)) terminal.err(`       ${line}`);
  const remedy = remedyOf(error, failed);
  if (remedy !== null) terminal.err(`${terminal.paintErr('cyan', '   fix')} ${oneLine(remedy, 500)}`);
  tellWhere(terminal, failed);
}

/** Ids that nobody has named are known from here only. */
export function tellWhere(terminal: Terminal, { requestId, id }: Failed): void {
  const where = ['adjutant get', requestId, ...(id === undefined ? [] : [id])].join(' ');
  terminal.err(`${terminal.paintErr('cyan', '   see')} ${where}`);
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

/** null where the error itself says what to do, or nobody knows. */
function remedyOf({ type, details }: ErrorEnvelope, failed: Failed): string | null {
  if (type === 'unknown_tool') return toolRemedy(details);
  // Only of a run: what a tool says is no command to be typed.
  if (type === 'busy' && failed.id === undefined && typeof details['active'] === 'string')
    return `Wait for its end (adjutant tail ${details['active']}), or end it: adjutant cancel ${details['active']}`;
  if (details['outcome'] === 'unknown' && type !== 'cancelled' && failed.id !== undefined)
    return `Look whether it happened; then this calls it again: adjutant dead redrive ${failed.requestId}/${failed.id}`;
  return null;
}

function toolRemedy({ server, close_names: close }: Record<string, unknown>): string {
  const known = Array.isArray(close) ? close.filter((name) => typeof name === 'string') : [];
  const names = known.map((name) => `${String(server)}.${name}`);
  const list = '`adjutant tools` lists what there is.';
  return names.length === 0 ? list : `Did you mean ${names.join(' or ')}? ${list}`;
}
