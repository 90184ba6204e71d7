/** `npm run test:console`: the tests of the console in Chromium, which is installed where that is possible; `-- --screens`: the pictures of docs/console.
 *  It must say what it installs, and must not need a person. */
import { spawnSync } from 'node:child_process';
import { chromiumPath } from '../support/browser.ts';

const APT = 'apt-get install --no-install-recommends chromium';

/** Debian's package, about 350 MB with its libraries. */
function installChromium(): void {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status !== 0) return;
  process.stderr.write(`Chromium was not found; installing it (${APT}, about 350 MB) …\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const stdio = ['ignore', 2, 2] as const;
  spawnSync('apt-get', ['update', '-qq'], { env, stdio: [...stdio] });
  const wait = ['-o', 'DPkg::Lock::Timeout=300'];
  spawnSync('apt-get', [...wait, ...APT.split(' ').slice(1), '-y', '-qq'], { env, stdio: [...stdio] });
}

function program(args: readonly string[]): readonly string[] {
  const others = args.filter((each) => each !== '--screens');
  if (args.includes('--screens'))
    return [process.execPath, '--conditions=adjutant-source', 'test/console/screens.ts', ...others];
  return ['vitest', 'run', ...(others.length === 0 ? ['test/console/', 'console/test/'] : others)];
}

if (chromiumPath() === null) installChromium();
if (chromiumPath() === null) {
  process.stderr.write(`There is no Chromium here: install it (Debian: ${APT}), or set CHROMIUM_PATH.\n`);
  process.exitCode = 1;
} else {
  const [command = '', ...args] = program(process.argv.slice(2));
  process.exitCode = spawnSync(command, args, { stdio: 'inherit' }).status ?? 1;
}
