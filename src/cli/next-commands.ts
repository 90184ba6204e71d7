// What can be typed next about a request: the decisions that it waits for, and what redrives its failures.
// Must never offer a command for what has been done already, nor more lines than fit a screen.
import { ADJUTANT } from './command-name.ts';
import { isObject } from '../contract/json-object.ts';
import type { DirectiveSummary, RequestView } from '../contract/request-view.ts';
import { oneLine } from './terminal.ts';

const MOST_COMMANDS = 6;
const SUCCESSOR = /^(?<stem>.*)\.redrive-(?<count>\d{1,9})$/;

interface Ended {
  readonly id: string;
  readonly result: { readonly data: object };
}

/** `failed`: the ends of directives that failed. Questions of tools come with their own commands. */
export function nextCommands(
  { request_id, run, directives }: RequestView,
  failed: readonly Ended[],
): string[] {
  const decisions = (run?.waiting_for ?? []).flatMap(({ kind, id }) =>
    kind === 'approval' || kind === 'budget'
      ? [
          `${ADJUTANT} approve ${request_id} ${word(id)}`,
          `${ADJUTANT} deny ${request_id} ${word(id)} --reason '…'`,
        ]
      : [],
  );
  const redrives = failed
    .filter((each) => isDeadLetter(each, directives))
    .map(({ id }) => `${ADJUTANT} dead redrive ${request_id}/${word(id)}`);
  return [...decisions, ...redrives].slice(0, MOST_COMMANDS);
}

/** What was attempted, and ended in an error that nobody asked for. */
function isDeadLetter({ id, result }: Ended, all: readonly DirectiveSummary[]): boolean {
  const attempts = all.find((each) => each.id === id)?.attempts ?? 0;
  const ended = (result.data as { result?: unknown }).result;
  const error = isObject(ended) ? ended['error'] : null;
  const isCancelled = !isObject(error) || error['type'] === 'cancelled';
  return attempts > 0 && !isCancelled && redrivenAs(id, all) === null;
}

/** The directive of the request that a redrive of this one has made; null: there is none. */
export function redrivenAs(id: string, all: readonly Pick<DirectiveSummary, 'id'>[]): string | null {
  const groups = SUCCESSOR.exec(id)?.groups;
  const next = `${groups?.['stem'] ?? id}.redrive-${Number(groups?.['count'] ?? 0) + 1}`;
  return all.some((each) => each.id === next) ? next : null;
}

/** As one word of a shell. */
function word(id: string): string {
  const shown = oneLine(id, 128);
  return /^[\w.:@%+=/~-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
}
