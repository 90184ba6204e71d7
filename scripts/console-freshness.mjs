/** Builds the console of a clone when it is missing, or older than its sources.
 *  It must never keep the service from starting: without the console everything else works. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const FOLDERS = ['console', 'src/contract'];
const FILES = ['package-lock.json'];

/** Only of a clone: a package has the built console, and no sources. */
export function ensureConsole(root, node, environment) {
  if (!existsSync(join(root, 'console')) || isFresh(root)) return;
  const { status, stderr } = spawnSync(node, ['console/build.ts'], {
    cwd: root,
    env: environment,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status === 0) return;
  const why = (stderr ?? '').split('\n').find((line) => /error/i.test(line)) ?? 'the build did not start';
  process.stderr.write(`adjutant: the console was not built: ${why.trim().slice(0, 300)}\n`);
}

function isFresh(root) {
  const built = join(root, 'dist/console/index.html');
  if (!existsSync(built)) return false;
  const { mtimeMs } = statSync(built);
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
  );
  return [...inFolders, ...FILES].every((file) => statSync(join(root, file)).mtimeMs <= mtimeMs);
}
