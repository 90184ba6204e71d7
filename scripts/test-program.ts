/** The command `adjutant` for the tests: its sources and what they import, in few files. A process that reads them is
 *  ready in half the time that 1,200 files take, and the tests start hundreds.
 *  It must hold the same code as the sources; a test that is run alone uses those. */
import { copyFileSync, cpSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

/** Beside a package.json: the program reads its version from the folder above its own. */
const PLACE = resolve('node_modules/.cache/adjutant');
const FOLDER = join(PLACE, 'program');
/** Started by name: the command, the files of its threads, what users test with, and the servers and callers of the tests. */
const ENTRIES = [
  'src/cli/main.ts',
  ...['testing/test-kit', 'testing/service-child', 'client/http-client'].map((name) => `src/${name}.ts`),
  'src/worker/heartbeat-thread.ts',
  'src/platform/json-schema/schema-thread.ts',
  ...globSync('test/support/servers/*.ts'),
  ...['tool-server', 'model-server', 'hostile-model'].map((name) => `test/chaos/${name}.ts`),
  ...['client', 'auth-client'].map((name) => `test/conformance/${name}.ts`),
  'test/support/doomed-engines.ts',
];
/** Beside the program as it is beside the folder of the command. */
const CONTROL_SERVER = 'control-server/main';
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
  rmSync(FOLDER, { recursive: true, force: true });
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
  cpSync('src/store/scripts', join(FOLDER, 'scripts'), { recursive: true });
  copyFileSync('src/platform/redis/script-bundle.lua', join(FOLDER, 'script-bundle.lua'));
  cpSync('src/servers/directive/starter', join(FOLDER, 'starter'), { recursive: true });
  mkdirSync(join(PLACE, 'control-server'), { recursive: true });
  writeFileSync(join(PLACE, `${CONTROL_SERVER}.js`), `import '../program/${CONTROL_SERVER}.js';\n`);
  copyFileSync('package.json', join(PLACE, 'package.json'));
  // Where the program looks for it, seen from its own folder.
  cpSync('dist/console', resolve(FOLDER, '../../dist/console'), { recursive: true });
  return join(FOLDER, 'main.js');
}
