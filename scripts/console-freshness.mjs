/** Builds the pages of a clone, the console and the documentation, when they are missing or older than their sources.
 *  Never keeps the service from starting: without its pages everything else works. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const CONSOLE = {
  title: 'console',
  program: 'console/build.ts',
  built: 'dist/console/index.html',
  folders: ['console', 'src/contract'],
  files: ['package-lock.json'],
};

const DOCS = {
  title: 'documentation',
  program: 'scripts/docs.ts',
  built: 'dist/docs/index.html',
  folders: ['docs'],
  files: ['README.md', 'scripts/docs.ts', 'scripts/docs.css', 'package-lock.json'],
};

/** A package has the built console, and no sources. */
export function ensureConsole(root, node, environment) {
  ensure(CONSOLE, root, node, environment);
}

/** A package has the built documentation, and no sources. */
export function ensureDocs(root, node, environment) {
  ensure(DOCS, root, node, environment);
}

function ensure(pages, root, node, environment) {
  const { title, program, folders } = pages;
  if (!existsSync(join(root, folders[0])) || isFresh(pages, root)) return;
  const { status, stderr } = spawnSync(node, [program], {
    cwd: root,
    env: environment,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status === 0) return;
  const why = (stderr ?? '').split('\n').find((line) => /error/i.test(line)) ?? 'the build did not start';
  process.stderr.write(`adjutant: the ${title} was not built: ${why.trim().slice(0, 300)}\n`);
}

function isFresh({ built, folders, files }, root) {
  if (!existsSync(join(root, built))) return false;
  const { mtimeMs } = statSync(join(root, built));
  const inFolders = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
  );
  return [...inFolders, ...files].every((file) => statSync(join(root, file)).mtimeMs <= mtimeMs);
}
