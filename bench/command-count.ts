/** The commands that clients send to Redis while a load runs: the round trips behind an operation.
 *  It must leave out what scripts do inside Redis, and must not watch while something is timed. */
import { watchCommands } from '../test/support/sent-commands.ts';
import { scriptNames } from './script-names.ts';

export interface CommandCount {
  /** The command, or the name of the script. */
  readonly command: string;
  readonly count: number;
}

/** Counts while `work` runs, most frequent first. */
export async function countCommands(
  redisPort: number,
  work: () => Promise<unknown>,
): Promise<CommandCount[]> {
  const counts = new Map<string, number>();
  const names = scriptNames();
  const end = await watchCommands(`redis://127.0.0.1:${redisPort}`, (line) => {
    if (line.includes(' lua] ')) return;
    const command = commandOf(wordsOf(line), names);
    counts.set(command, (counts.get(command) ?? 0) + 1);
  });
  await work();
  end();
  return [...counts]
    .map(([command, count]) => ({ command, count }))
    .toSorted((one, other) => other.count - one.count);
}

/** The words of a line of MONITOR: each in quotation marks, with escapes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => word);
}

/** A script by its name; `evalsha` when nobody knows it. */
function commandOf(words: readonly string[], names: ReadonlyMap<string, string>): string {
  const [command = '', script = ''] = words;
  const name = command.toLowerCase();
  return name === 'evalsha' ? (names.get(script) ?? bundleOf(words) ?? name) : name;
}

/** The scripts of a bundle, as src/platform/redis/script-bundle.ts sends them; null: it is none. */
function bundleOf([, , keyCount = '', ...values]: readonly string[]): string | null {
  const scripts: string[] = [];
  for (let at = Number(keyCount); at < values.length; at += 3 + Number(values[at + 2])) {
    const script = values[at]?.split(':').find((part) => part !== 'adjutant');
    if (!Number.isInteger(Number(values[at + 2])) || script === undefined) return null;
    scripts.push(script);
  }
  return scripts.length === 0 ? null : `bundle: ${scripts.join(' + ')}`;
}
