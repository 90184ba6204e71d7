/** The command `adjutant` for the tests: its sources and what they import, in few files. A process that reads them is
 *  ready in half the time that 1,200 files take, and the tests start hundreds.
 *  It must hold the same code as the sources; a test that is run alone uses those. */
import { copyFileSync, cpSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const PLACE = resolve('node_modules/.cache/adjutant');
/** As deep as the modules that read files by a path from their own: src/service/roles. */
const FOLDER = join(PLACE, 'src/service/roles');
/** The folder above the program, where modules that lie one folder deep in src find package.json and the Lua scripts. */
const ABOVE = join(FOLDER, '..');
/** Started by name: the command, the files of its threads, what users test with, and the servers and callers of the tests. */
const ENTRIES = [
  'src/cli/main.ts',
  ...['testing/test-kit', 'testing/service-child', 'client/http-client', 'service/direct-client'].map(
    (name) => `src/${name}.ts`,
  ),
  'src/worker/heartbeat-thread.ts',
  'src/platform/json-schema/schema-thread.ts',
  ...globSync('test/support/servers/*.ts'),
  ...['tool-server', 'model-server', 'hostile-model'].map((name) => `test/chaos/${name}.ts`),
  ...['client', 'auth-client'].map((name) => `test/conformance/${name}.ts`),
  'test/support/doomed-engines.ts',
  'test/support/doomed-worker.ts',
];
const CONTROL_SERVER = 'servers/control/main';
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
  mkdirSync(FOLDER, { recursive: true });
  const bundle = await rolldown({
    input: {
      ...Object.fromEntries(ENTRIES.map((file) => [basename(file, '.ts'), resolve(file)])),
      [CONTROL_SERVER]: resolve(`src/${CONTROL_SERVER}.ts`),
    },
    platform: 'node',
    plugins: [ownFolder],
    resolve: { conditionNames: ['adjutant-source', 'node', 'import'], mainFields: ['module', 'main'] },
    logLevel: 'silent',
  });
  await bundle.write({
    dir: FOLDER,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    keepNames: true,
  });
  await bundle.close();
  for (const script of globSync('src/**/*.lua')) cpSync(script, join(ABOVE, relative('src', script)));
  copyFileSync('src/platform/redis/script-bundle.lua', join(FOLDER, 'script-bundle.lua'));
  cpSync('src/servers/directive/starter', join(FOLDER, 'starter'), { recursive: true });
  mkdirSync(join(PLACE, 'src/servers/control'), { recursive: true });
  writeFileSync(
    join(PLACE, `src/${CONTROL_SERVER}.js`),
    `import '../../service/roles/${CONTROL_SERVER}.js';\n`,
  );
  copyFileSync('package.json', join(ABOVE, 'package.json'));
  cpSync('dist/console', join(PLACE, 'dist/console'), { recursive: true });
  cpSync('scripts/parent-watch.mjs', join(PLACE, 'scripts/parent-watch.mjs'));
  return join(FOLDER, 'main.js');
}
