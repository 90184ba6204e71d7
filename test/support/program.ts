/** The programs that tests start: as `npm test` has made them of the sources (scripts/test-program.ts), else the sources.
 *  It must not be used where the sources are changed on purpose. */
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const MADE = process.env['ADJUTANT_TEST_PROGRAM'];

/** `source`: the program's own file. */
export function programOf(source: string): string {
  if (MADE === undefined) return source;
  const made = resolve(MADE, '../../..', relative('.', source).replace(/\.ts$/, '.js'));
  return existsSync(made) ? made : source;
}

export const SOURCES: string = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** The command `adjutant`. */
export const PROGRAM: string = programOf(SOURCES);

const ENTRIES = {
  'adjutant/client': 'client/http-client',
  'adjutant/queue': 'service/direct-client',
  'adjutant/testing': 'testing/test-kit',
};

/** Arguments for the Node of a user's program: what it imports from the package is what the tests start, else the sources. */
export const WITH_PACKAGE: readonly string[] = ['--conditions=adjutant-source', ...importHook()];

function importHook(): string[] {
  if (MADE === undefined) return [];
  const places = Object.entries(ENTRIES).map(([name, source]) => {
    const made = programOf(fileURLToPath(new URL(`../../src/${source}.ts`, import.meta.url)));
    return [name, pathToFileURL(made).href];
  });
  const hook = `
    import { registerHooks } from 'node:module';
    const places = ${JSON.stringify(Object.fromEntries(places))};
    const resolve = (name, context, next) =>
      Object.hasOwn(places, name) ? { url: places[name], shortCircuit: true } : next(name, context);
    registerHooks({ resolve });`;
  return [`--import=data:text/javascript,${encodeURIComponent(hook)}`];
}
