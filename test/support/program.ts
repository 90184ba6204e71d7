/** The file of the command `adjutant` that tests start: the one that `npm test` has made of the sources, else the sources.
 *  It must not be used where the sources are changed on purpose. */
import { fileURLToPath } from 'node:url';

export const SOURCES = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export const PROGRAM: string = process.env['ADJUTANT_TEST_PROGRAM'] ?? SOURCES;
