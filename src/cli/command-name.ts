/** How a person types this program here: every hint and help text takes the words from this file.
 *  It must never name a command that this machine does not have. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Folders of a package's own commands: npm adds them to the PATH of what it starts. */
const OF_A_PACKAGE = join('node_modules', '.bin');

/** `adjutant` where it is installed on the PATH; `npx adjutant` in a clone, and wherever npm started this process. */
export function commandName({ npm_command: npm, PATH = '' }: Environment, exists = existsSync): string {
  const folders = PATH.split(delimiter).filter((folder) => folder !== '' && !folder.endsWith(OF_A_PACKAGE));
  const isInstalled = npm === undefined && folders.some((folder) => exists(join(folder, 'adjutant')));
  return isInstalled ? 'adjutant' : 'npx adjutant';
}

/** Text before the options of a start: `npm start` passes on only what follows `--`. */
export function beforeOptions({ npm_lifecycle_event: script }: Environment): string {
  return script === 'start' ? 'npm start -- ' : '';
}

export const ADJUTANT = commandName(process.env);
