/** A release: `node scripts/release.ts` packs both packages and the documentation into a folder and names the commands that publish them;
 *  with `--publish` it runs those commands. Never publishes a version whose parts do not agree, or from changed sources. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildDocs } from './docs.ts';

/** Folders of the packages, in the order in which they are published. */
const PACKAGES = ['client', '.'] as const;

interface Options {
  readonly to: string;
  /** Repository of the image, such as `ghcr.io/owner/adjutant`; undefined: no image is published. */
  readonly image: string | undefined;
  readonly publish: boolean;
}

type Command = readonly [program: string, ...args: string[]];

/** Runs the release; throws with the reason why there is none. */
function release({ to, image, publish }: Options): void {
  const version = agreedVersion();
  if (publish) requireReleased(version);
  mkdirSync(to, { recursive: true });
  // The first `npm pack` of the root builds everything that the packages hold.
  for (const folder of PACKAGES.toReversed())
    run('npm', ['pack', resolve(folder), '--pack-destination', to, '--loglevel=error']);
  buildDocs(join(to, 'docs'));
  for (const [program, ...args] of commandsOf({ version, to, image }))
    if (publish) run(program, args);
    else console.log([program, ...args].join(' '));
}

/** The commands that publish a release whose packages are in `to`. */
function commandsOf({ version, to, image }: { version: string } & Pick<Options, 'to' | 'image'>): Command[] {
  const tarball = (name: string): string => join(to, `${name}-${version}.tgz`);
  const npm = ['adjutant-client', 'adjutant'].map((name): Command => [
    'npm',
    'publish',
    tarball(name),
    '--access',
    'public',
  ]);
  if (image === undefined) return npm;
  const tags = [version, 'latest'].flatMap((tag) => ['--tag', `${image}:${tag}`]);
  const platforms = ['--platform', 'linux/amd64,linux/arm64'];
  return [...npm, ['docker', 'buildx', 'build', ...platforms, ...tags, '--push', '.']];
}

/** The version of both packages, which the change log must describe. */
function agreedVersion(): string {
  const versions = PACKAGES.map((folder) => {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    return version;
  });
  const [version = '', ...others] = versions;
  if (others.some((other) => other !== version))
    throw new Error(`The packages differ: ${versions.join(', ')}.`);
  if (!readFileSync('CHANGELOG.md', 'utf8').includes(`## [${version}]`))
    throw new Error(`CHANGELOG.md has no section of version ${version}.`);
  return version;
}

function requireReleased(version: string): void {
  const tags = output('git', ['tag', '--points-at', 'HEAD']).split('\n');
  if (!tags.includes(`v${version}`)) throw new Error(`HEAD has not the tag v${version}.`);
  if (output('git', ['status', '--porcelain']) !== '') throw new Error('The sources are changed.');
}

function output(program: string, args: readonly string[]): string {
  return spawnSync(program, args, { encoding: 'utf8' }).stdout.trim();
}

function run(program: string, args: readonly string[]): void {
  const { status } = spawnSync(program, args, { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}.`);
}

const { values } = parseArgs({
  options: {
    to: { type: 'string', default: 'dist/release' },
    image: { type: 'string' },
    publish: { type: 'boolean', default: false },
  },
});
release({ to: resolve(values.to), image: values.image, publish: values.publish });
