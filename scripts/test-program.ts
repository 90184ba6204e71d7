/** The command `adjutant` for the tests: its sources and what they import, in few files. A process that reads them is
 *  ready in half the time that 1,200 files take, and the tests start hundreds.
 *  It must hold the same code as the sources; a test that is run alone uses those. */
import { cpSync, globSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bundleSources } from './bundle.ts';

const PLACE = resolve('node_modules/.cache/adjutant');
/** Started by name: the command, the files of its threads, what users test with, and the servers and callers of the tests. */
const ENTRIES = [
  'src/cli/main.ts',
  'src/client/http-client.ts',
  'src/platform/json-schema/schema-thread.ts',
  'src/servers/control/main.ts',
  'src/service/direct-client.ts',
  'src/testing/service-child.ts',
  'src/testing/test-kit.ts',
  'src/worker/heartbeat-thread.ts',
  ...globSync('test/support/servers/*.ts'),
  ...['tool-server', 'model-server', 'hostile-model'].map((name) => `test/chaos/${name}.ts`),
  ...['client', 'auth-client'].map((name) => `test/conformance/${name}.ts`),
  'test/support/doomed-engines.ts',
  'test/support/doomed-worker.ts',
];
/** Files that a module reads from beside its own. */
const BESIDE = ['package.json', 'scripts/parent-watch.mjs', ...globSync('src/**/*.{lua,md}')];
/** It reads files that lie beside its own, wherever the program is. */
const READS_BESIDE = /@fastify\/swagger-ui\/.*\.js$/;
const ownFolder = {
  name: 'own-folder',
  transform: {
    filter: { id: READS_BESIDE },
    handler: (code: string, id: string) => code.replaceAll('__dirname', JSON.stringify(dirname(id))),
  },
};

/** Writes the program; returns the file to start. */
export async function writeTestProgram(): Promise<string> {
  rmSync(PLACE, { recursive: true, force: true });
  await bundleSources({
    root: '.',
    to: PLACE,
    entries: ENTRIES,
    plugins: [ownFolder],
    output: { keepNames: true },
  });
  for (const file of BESIDE) cpSync(file, join(PLACE, file));
  cpSync('dist/console', join(PLACE, 'dist/console'), { recursive: true });
  return join(PLACE, 'src/cli/main.js');
}
