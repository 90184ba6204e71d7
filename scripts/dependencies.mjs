/** The npm dependencies of a clone: compared with the lock file on every start, installed when they differ.
 *  It must work on Node 20 with nothing installed, and take milliseconds when nothing is to be done. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Unprepared } from './unprepared.mjs';

/** Installs from the lock file unless the installed tree matches it. */
export function ensureDependencies(root) {
  if (isInstalled(root)) return;
  process.stderr.write('Installing npm dependencies from the lock file (once) …\n');
  const flags = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const { command, args } = npmCommand(flags);
  const { status } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Unprepared('`npm ci` failed; its message above says why.');
}

/** npm keeps a record of what it installed; only packages for other platforms may be missing from it. */
function isInstalled(root) {
  const installed = packagesOf(join(root, 'node_modules', '.package-lock.json'));
  const locked = packagesOf(join(root, 'package-lock.json'));
  if (installed === null || locked === null) return false;
  // The clone itself and its workspaces are locked too, and are not fetched.
  const fetched = Object.entries(locked).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link,
  );
  return fetched.every(([path, wanted]) => {
    const found = installed[path];
    if (found === undefined) return wanted.optional === true;
    return found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

function packagesOf(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : null;
}

/** The npm that started this process, if any; otherwise the one on the PATH. */
function npmCommand(flags) {
  const cli = process.env.npm_execpath;
  const known = cli !== undefined && /npm-cli\.c?js$/.test(cli);
  return known ? { command: process.execPath, args: [cli, ...flags] } : { command: 'npm', args: flags };
}
