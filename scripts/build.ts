/** `npm run build`: dist/ from src/, and the list of what it depends on, for the package and the container image.
 *  It must leave nothing of an earlier build behind. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { minifySync } from 'rolldown/experimental';
import { buildClient } from '../client/build.ts';
import { buildConsole } from '../console/build.ts';
import { buildDocs } from './docs.ts';

const MOST_OUTPUT_BYTES = 64 * 1_024 * 1_024;

rmSync('dist', { recursive: true, force: true });
const { status } = spawnSync('tsc', ['-p', 'tsconfig.build.json', '--singleThreaded'], { stdio: 'inherit' });
for (const script of globSync('src/**/*.{lua,md}')) cpSync(script, join('dist', relative('src', script)));
leaveWhatRuns();
await buildConsole();
buildDocs();
if (status === 0) await buildClient();
const listed = writeBillOfMaterials();
process.exitCode = status === 0 && listed ? 0 : 1;

/** Leaves the code minified, the scripts without their comments, and the declarations that an entry point of the package leads to. */
function leaveWhatRuns(): void {
  for (const file of globSync('dist/**/*.js')) writeFileSync(file, minified(file));
  for (const file of globSync('dist/**/*.lua'))
    writeFileSync(file, withoutComments(readFileSync(file, 'utf8')));
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, { types?: string }>;
  };
  const todo = Object.values(exports).flatMap(({ types }) =>
    types === undefined ? [] : globSync(types.replace('*', '**/*')),
  );
  const named = new Set<string>();
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    const path = join(file);
    if (named.has(path) || !existsSync(path)) continue;
    named.add(path);
    const imports = readFileSync(path, 'utf8').matchAll(
      /(?:from|import\() ?["'](?<from>\.[^"']+)\.[jt]s["']/g,
    );
    for (const { groups } of imports) todo.push(join(dirname(path), `${groups?.['from']}.d.ts`));
  }
  for (const file of globSync('dist/**/*.d.ts')) if (!named.has(join(file))) rmSync(file);
}

/** Names of functions and classes stay, so that a stack trace can be read. */
function minified(file: string): string {
  const names = { function: true, class: true };
  const { code, errors } = minifySync(file, readFileSync(file, 'utf8'), {
    module: true,
    compress: { target: 'es2024', keepNames: names },
    mangle: { keepNames: names },
  });
  if (errors.length > 0)
    throw new Error(`${file} cannot be minified: ${errors.map(({ message }) => message).join(', ')}`);
  return code;
}

/** A script without its comments, but for those that are instructions, such as `-- @include`. */
function withoutComments(script: string): string {
  return script.replaceAll(/^[ \t]*--(?! @).*\n/gm, '');
}

/** Writes dist/sbom.cdx.json: the packages that an installation gets, from package-lock.json, as CycloneDX. */
function writeBillOfMaterials(): boolean {
  const flags = [
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
    '--omit=dev',
    '--package-lock-only',
    '--workspaces=false',
  ];
  const {
    status: ended,
    stdout,
    stderr,
  } = spawnSync('npm', ['sbom', ...flags], {
    encoding: 'utf8',
    maxBuffer: MOST_OUTPUT_BYTES,
  });
  if (ended !== 0) {
    console.error(`The bill of materials was not written: npm sbom ended with ${ended}. ${stderr}`);
    return false;
  }
  const bill = JSON.parse(stdout) as { metadata: { component: { name: string } } };
  // npm takes the name of the folder.
  bill.metadata.component.name = 'adjutant';
  writeFileSync('dist/sbom.cdx.json', `${JSON.stringify(bill, null, 2)}\n`);
  return true;
}
