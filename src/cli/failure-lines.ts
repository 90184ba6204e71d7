/** The error of a directive or a run on stderr: its type, each place and detail, the remedy, the command that shows more;
 *  and hints for a filter that matches nothing. */
import { closeNames } from '../platform/bounds/close-names.ts';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import { ERROR_TYPES, type ErrorEnvelope } from '../contract/error-envelope.ts';
import { fieldLine } from '../contract/json/field-error.ts';
import { ownMember } from '../contract/json/json-object.ts';
import { ADJUTANT } from './command-name.ts';
import { errorText } from './following/signal-gist.ts';
import { oneLine, plainJson, type Terminal } from './terminal.ts';

/** The failed directive, or without an id the run of the request. */
export interface Failed {
  readonly requestId: string;
  readonly id?: string;
}

export function printFailure(terminal: Terminal, error: ErrorEnvelope, failed: Failed): void {
  terminal.err(`${terminal.paintErr('red', 'failed')} ${errorText(error)}`);
  for (const line of detailLines(withoutFix(error.details))) terminal.err(`       ${line}`);
  const remedy = remedyOf(error, failed);
  if (remedy !== null) terminal.err(`${terminal.paintErr('cyan', '   fix')} ${oneLine(remedy, 500)}`);
  printPlace(terminal, failed);
}

/** Generated ids are visible only here. */
export function printPlace(terminal: Terminal, { requestId, id }: Failed): void {
  const where = [`${ADJUTANT} get`, requestId, ...(id === undefined ? [] : [id])].join(' ');
  terminal.err(`${terminal.paintErr('cyan', '   see')} ${where}`);
}

/** The only forms that are shown as a remedy: a tool may give its own error any member. */
const SETTING = /^set "[a-z_]+" of (this server|the MCP server "[^"]*")( to true)?(, so that [a-z ]+)?$/;

function settingIn({ fix }: Record<string, unknown>): string | null {
  return typeof fix === 'string' && SETTING.test(fix) ? fix : null;
}

function withoutFix(details: Record<string, unknown>): Record<string, unknown> {
  const { fix: _fix, ...others } = details;
  return settingIn(details) === null ? details : others;
}

/** The faulty places, one per line; other details as JSON. */
function detailLines(details: Record<string, unknown>): string[] {
  const { errors, ...others } = details;
  const places = (Array.isArray(errors) ? errors : []).map((error: unknown) => {
    // A tool may give its errors any form.
    return oneLine(isPlace(error) ? fieldLine(error) : plainJson(error), 500);
  });
  return Object.keys(others).length === 0 ? places : [...places, oneLine(JSON.stringify(others), 1_000)];
}

function isPlace(error: unknown): error is { path: string; message: string } {
  const { path, message } = Object(error) as { path?: unknown; message?: unknown };
  return typeof path === 'string' && typeof message === 'string';
}

/** null when the error itself names the remedy, or none is known. */
function remedyOf({ type, message, details }: ErrorEnvelope, failed: Failed): string | null {
  if (type === 'unknown_tool') return toolRemedy(details);
  // Only for runs: text of a tool must not become a command to type.
  if (type === 'busy' && failed.id === undefined && typeof details['active'] === 'string')
    return `Wait for its end (${ADJUTANT} tail ${details['active']}), or end it: ${ADJUTANT} cancel ${details['active']}`;
  if (details['outcome'] === 'unknown' && type !== 'cancelled' && failed.id !== undefined) {
    const name = `${failed.requestId}/${failed.id}`;
    const check = details['reconcile'] === undefined ? '' : `: ${ADJUTANT} reconcile ${name}`;
    return `Check whether it happened${check}; to call it again: ${ADJUTANT} dead redrive ${name}`;
  }
  // A known reason of the wait has a better remedy, or none.
  if (type === 'deadline_exceeded' && message.includes(': ')) return settingIn(details);
  return settingIn(details) ?? ownMember(REMEDIES, type) ?? null;
}

const REMEDIES: Readonly<Record<string, string>> = {
  deadline_exceeded:
    'Give it more time (--deadline-ms, or deadline_ms of the directive), or start more workers.',
  budget_spent: `\`${ADJUTANT} budgets\` shows what is spent, and when the day ends; the operator may raise the limit.`,
  decryption_key_missing:
    'Add the key to the variable that `encryption.keys_env` names, in the environment of every worker.',
  decryption_failed:
    'Compare the key of this name at the client and at the workers; then submit it again with the client that encrypts it.',
  unknown_model: 'Name a model as provider:model, or an alias that `models` of adjutant.json defines.',
};

/** `close_names`: tools of `server` when the error names both; else as they are. */
function toolRemedy({ server, tool, close_names: close }: Record<string, unknown>): string {
  const known = Array.isArray(close) ? close.filter((name) => typeof name === 'string') : [];
  const names = tool === undefined ? known : known.map((name) => `${String(server)}.${name}`);
  const list = `\`${ADJUTANT} tools\` lists the tools.`;
  return names.length === 0 ? list : `Did you mean ${names.join(' or ')}? ${list}`;
}

interface HintedFilter {
  readonly errorType?: string;
  readonly lane?: string;
}

/** Hints as sentences; none without a probable typing error. */
export async function filterHints(
  { errorType, lane }: HintedFilter,
  client: Pick<DirectiveClient, 'lanes'>,
): Promise<string[]> {
  const hints = errorType === undefined ? [] : hint('--error-type', errorType, ERROR_TYPES);
  if (lane === undefined) return hints;
  // A key may not read the lanes: then there is no hint.
  const listed = await client.lanes().catch(() => null);
  return [...hints, ...hint('--lane', lane, listed?.lanes.map(({ name }) => name) ?? [])];
}

function hint(option: string, asked: string, known: readonly string[]): string[] {
  if (known.includes(asked)) return [];
  const close = closeNames(asked, known);
  return close.length === 0 ? [] : [`did you mean ${option} ${oneLine(close.join(` or ${option} `), 300)}?`];
}
