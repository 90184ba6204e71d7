#!/usr/bin/env node
/** The `adjutant` command: the sources under the pinned Node in a clone, the built program when installed from a package.
 *  It must not decide anything else: the verbs are in src/cli. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './dependencies.mjs';
import { become, environmentOf, FROM_SOURCES, nodePath } from './pinned-node.mjs';
import { reportUnprepared } from './unprepared.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, 'src', 'cli', 'main.ts');

/** Modules of a project may be TypeScript, which Node runs by itself from 22.18 on. */
function typesFlags() {
  if (process.features.typescript !== false) return [];
  return ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
}

reportUnprepared(() => {
  const inClone = existsSync(source);
  if (inClone) ensureDependencies(root);
  const program = inClone ? [FROM_SOURCES, source] : [...typesFlags(), join(root, 'dist', 'cli', 'main.js')];
  become(nodePath(root), [...program, ...process.argv.slice(2)], { env: environmentOf(root) });
});
