/** Examples below the help of a verb. */
import type { Command } from 'commander';
import { ADJUTANT } from './command-name.ts';

/** `lines`: command lines without the name of the program. */
export function examples(command: Command, lines: readonly string[]): void {
  const shown = lines.map((line) => `  ${ADJUTANT} ${line}`);
  command.addHelpText('after', `\nExamples:\n${shown.join('\n')}`);
}
