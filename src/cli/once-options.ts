/** The options of what is done once in a while, and the words for what became of it.
 *  It must never choose between two of them: the service says what goes together. */
import { type Command, Option } from 'commander';
import { type OnceAnswer, WHEN_OPEN } from '../contract/once.ts';
import type { SubmittedDirective } from '../contract/directive.ts';
import { duration } from './duration-value.ts';
import { usage } from './failure.ts';

export interface OnceOptions {
  /** Key, with `window`. */
  readonly dedupe?: string;
  readonly window?: number;
  /** Key, with `quiet`, and `atMost`. */
  readonly debounce?: string;
  readonly quiet?: number;
  readonly atMost?: number;
  /** Key, with `whenOpen`. */
  readonly singleton?: string;
  readonly whenOpen?: (typeof WHEN_OPEN)[number];
}

/** `what`: is submitted. */
export function addOnceOptions(command: Command, what: 'call' | 'run' = 'call'): Command {
  return command
    .option('--dedupe <key>', `the same answer for all ${what}s under the key, for the time of --window`)
    .option('--window <duration>', 'of --dedupe, as in 30s or 10m', duration)
    .option(
      '--debounce <key>',
      `only the last ${what} under the key, after the time of --quiet, and do not wait`,
    )
    .option('--quiet <duration>', `of --debounce: begin after so long without another ${what}`, duration)
    .option(
      '--at-most <duration>',
      `of --debounce: begin so long after the first ${what} at the latest`,
      duration,
    )
    .option('--singleton <key>', `one ${what} under the key at a time`)
    .addOption(
      new Option('--when-open <what>', 'of --singleton: what to do if one is open; default: refuse').choices(
        WHEN_OPEN,
      ),
    );
}

type OnceFields = Pick<
  Extract<SubmittedDirective, { type: 'tool_exec' }>,
  'dedupe' | 'debounce' | 'singleton'
>;

export function onceFieldsOf(given: OnceOptions): OnceFields {
  const { dedupe, window, debounce, quiet, atMost, singleton, whenOpen } = given;
  requireOwner('--window', window, '--dedupe', dedupe);
  requireOwner('--quiet', quiet, '--debounce', debounce);
  requireOwner('--at-most', atMost, '--debounce', debounce);
  requireOwner('--when-open', whenOpen, '--singleton', singleton);
  requireOwner('--dedupe', dedupe, '--window', window);
  requireOwner('--debounce', debounce, '--quiet', quiet);
  return {
    ...(dedupe === undefined || window === undefined ? {} : { dedupe: { key: dedupe, window_ms: window } }),
    ...(debounce === undefined || quiet === undefined
      ? {}
      : {
          debounce: {
            key: debounce,
            quiet_ms: quiet,
            ...(atMost === undefined ? {} : { at_most_ms: atMost }),
          },
        }),
    ...(singleton === undefined
      ? {}
      : { singleton: { key: singleton, ...(whenOpen === undefined ? {} : { when_open: whenOpen }) } }),
  };
}

function requireOwner(name: string, value: unknown, owner: string, given: unknown): void {
  if (value !== undefined && given === undefined)
    throw usage(`${name} is given without ${owner}.`, `Give both, or neither.`);
}

/** Whether others wait for it as well: it is not this call's to cancel. */
export function isOthers(once: OnceAnswer | undefined): boolean {
  return once?.outcome === 'deduplicated' || once?.outcome === 'joined';
}

/** A run has the id of its request. */
function replacedName({ replaces }: OnceAnswer): string {
  const { request_id: requestId = '', id = '' } = replaces ?? {};
  return id === requestId ? requestId : `${requestId}/${id}`;
}

/** `name`: of the call that stands for this one. null: nobody needs to know. */
export function onceInWords(once: OnceAnswer | undefined, name: string): string | null {
  switch (once?.outcome) {
    case 'deduplicated':
      return `the same as ${name}, until ${once.until}`;
    case 'joined':
      return `joined ${name}, which is open`;
    case 'replaced':
      return `in the place of ${replacedName(once)}, which is cancelled`;
    case 'began':
    case 'debounced':
    case undefined:
      return null;
  }
}
