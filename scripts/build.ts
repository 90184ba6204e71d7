/** `npm run build`: dist/ from src/, and the list of what it depends on, for the package and the container image.
 *  It must leave nothing of an earlier build behind. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { buildClient } from '../client/build.ts';
import { buildConsole } from '../console/build.ts';
import { INDEX, PACKED_PAGES } from '../src/http/page-files.ts';
import { bundleSources } from './bundle.ts';
import { buildDocs } from './docs.ts';

const MOST_OUTPUT_BYTES = 64 * 1_024 * 1_024;

/** Modules that are started by their path; the others are imported by a name of the package. */
const STARTED = [
  'cli/main.ts',
  'platform/json-schema/schema-thread.ts',
  'servers/control/main.ts',
  'testing/service-child.ts',
  'worker/heartbeat-thread.ts',
];

const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Record<string, string | { 'adjutant-source': string; types: string }>;
};
const named = Object.values(exports).flatMap((each) => (typeof each === 'string' ? [] : [each]));

rmSync('dist', { recursive: true, force: true });
const { status } = spawnSync('tsc', ['-p', 'tsconfig.build.json', '--singleThreaded'], { stdio: 'inherit' });
leaveNamedTypes();
await buildProgram();
for (const file of globSync('src/**/*.{lua,md}')) cpSync(file, join('dist', relative('src', file)));
for (const file of globSync('dist/**/*.lua'))
  writeFileSync(file, withoutComments(readFileSync(file, 'utf8')));
await buildConsole();
buildDocs();
for (const pages of ['dist/console', 'dist/docs']) packPages(pages);
if (status === 0) await buildClient();
const listed = writeBillOfMaterials();
process.exitCode = status === 0 && listed ? 0 : 1;

/** Leaves the declarations that an entry point of the package leads to. */
function leaveNamedTypes(): void {
  const todo = named.flatMap(({ types }) => globSync(types));
  const reached = new Set<string>();
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    const path = join(file);
    if (reached.has(path) || !existsSync(path)) continue;
    reached.add(path);
    const imports = readFileSync(path, 'utf8').matchAll(
      /(?:from|import\() ?["'](?<from>\.[^"']+)\.[jt]s["']/g,
    );
    for (const { groups } of imports) todo.push(join(dirname(path), `${groups?.['from']}.d.ts`));
  }
  for (const file of globSync('dist/**/*.d.ts')) if (!reached.has(join(file))) rmSync(file);
}

/** Names of functions and classes stay, so that a stack trace can be read. */
async function buildProgram(): Promise<void> {
  const files = named.flatMap((each) => globSync(each['adjutant-source']));
  const names = { function: true, class: true };
  await bundleSources({
    root: 'src',
    to: 'dist',
    entries: [...new Set([...STARTED, ...files.map((file) => relative('src', file))])],
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    output: { minify: { compress: { target: 'es2024', keepNames: names }, mangle: { keepNames: names } } },
  });
}

/** A script without its comments, but for those that are instructions, such as `-- @include`. */
function withoutComments(script: string): string {
  return script.replaceAll(/^[ \t]*--(?! @).*\n/gm, '');
}

/**
 * The texts of built pages as one compressed file, which `readPages` opens: they resemble each other. The index stays: its time tells a clone
 * whether the pages are newer than their sources.
 */
function packPages(folder: string): void {
  const texts = globSync('**/*.{html,js,css,svg,txt}', { cwd: folder, exclude: [INDEX] });
  const packed = JSON.stringify(
    Object.fromEntries(texts.map((path) => [path, readFileSync(join(folder, path), 'utf8')])),
  );
  for (const path of texts) rmSync(join(folder, path));
  const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
  writeFileSync(join(folder, PACKED_PAGES), brotliCompressSync(packed, { params }));
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
  writeFileSync('dist/sbom.cdx.json', JSON.stringify(bill));
  return true;
}
