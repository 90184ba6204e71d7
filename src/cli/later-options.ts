/** The options of what begins later, the same for a call and a run.
 *  It must never compute an instant: the service does, by one clock. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type LaterFields, LONGEST_DELAY_MS } from '../contract/later.ts';
import { duration, durationWords, instantOption } from './duration-value.ts';

export interface LaterOptions {
  /** Milliseconds before it may begin. */
  readonly in?: number;
  /** It may begin from then on. */
  readonly at?: string;
  /** Milliseconds within which it has to begin. */
  readonly startBy?: number;
}

export function addLaterOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--in <duration>',
        'begin so long from now, as in 90s, 10m or 8h, and do not wait for the answer',
      )
        .argParser(delay)
        .conflicts('at'),
    )
    .option('--at <instant>', 'begin then, as in 2027-01-31T07:30:00+01:00, and do not wait', instantOption)
    .option('--start-by <duration>', 'end as expired what has not begun so long after it might', delay);
}

function delay(text: string): number {
  const ms = duration(text);
  if (ms <= LONGEST_DELAY_MS) return ms;
  throw new InvalidArgumentError(`It must be at most ${durationWords(LONGEST_DELAY_MS)}.`);
}

export function laterFieldsOf({ in: delayMs, at, startBy }: LaterOptions): LaterFields {
  return {
    ...(delayMs === undefined ? {} : { delay_ms: delayMs }),
    ...(at === undefined ? {} : { run_at: at }),
    ...(startBy === undefined ? {} : { start_by_ms: startBy }),
  };
}

/** When it begins, in words; null: as soon as it can. */
export function beginsInWords({ in: delayMs, at }: LaterOptions): string | null {
  if (delayMs !== undefined) return `in ${durationWords(delayMs)}`;
  return at === undefined ? null : `at ${at}`;
}
