/** The programs that tests start: as `npm test` has made them of the sources (scripts/test-program.ts), else the sources.
 *  It must not be used where the sources are changed on purpose. */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MADE = process.env['ADJUTANT_TEST_PROGRAM'];

/** `source`: the program's own file. */
export function programOf(source: string): string {
  if (MADE === undefined) return source;
  const made = join(dirname(MADE), `${basename(source, '.ts')}.js`);
  return existsSync(made) ? made : source;
}

export const SOURCES: string = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** The command `adjutant`. */
export const PROGRAM: string = programOf(SOURCES);
