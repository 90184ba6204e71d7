// What can be typed next about a request: the decisions that it waits for, and what redrives its failures.
// Must never offer a command for what has been done already, nor more lines than fit a screen.
import { ADJUTANT } from './command-name.ts';
import { isObject } from '../contract/json-object.ts';
import type { DirectiveSummary, RequestView } from '../contract/request-view.ts';
import { redrivenAs } from '../contract/redriven.ts';
import { oneLine } from './terminal.ts';

const MOST_COMMANDS = 6;

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

/** As one word of a shell. */
function word(id: string): string {
  const shown = oneLine(id, 128);
  return /^[\w.:@%+=/~-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
}
