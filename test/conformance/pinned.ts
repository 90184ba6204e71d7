/** Programs of strangers in the versions that were tested, installed once into node_modules/.cache and used from there.
 *  It must never install anything else, nor into the project: they are heavy, and only this script needs them. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const FOLDER = resolve('node_modules/.cache/adjutant-conformance');
const NPM = [
  '@modelcontextprotocol/inspector@2.12.0',
  '@ai-sdk/mcp@2.0.99',
  'mcp-remote@0.15.1',
  'zod@4.6.7',
] as const;
const PYTHON = ['mcp==2.3.0'] as const;
const OLDEST_PYTHON = [3, 10] as const;

/** Where a program is, or why it cannot be used here. */
export type Pinned =
  | { readonly kind: 'ready'; readonly path: string }
  | { readonly kind: 'missing'; readonly why: string };

/** The file of the inspector's command, the module of the AI SDK's client, and the client of `mcp-remote`. */
export async function pinnedPackages(): Promise<{ inspector: Pinned; aiSdk: Pinned; mcpRemote: Pinned }> {
  const place = join(FOLDER, 'npm');
  const args = ['install', '--prefix', place, '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact'];
  const failure = await installed(place, async () => run('npm', [...args, ...NPM]));
  if (failure !== null) return { inspector: failure, aiSdk: failure, mcpRemote: failure };
  const require = createRequire(join(place, 'package.json'));
  return {
    inspector: { kind: 'ready', path: join(place, 'node_modules/.bin/mcp-inspector') },
    aiSdk: { kind: 'ready', path: require.resolve('@ai-sdk/mcp') },
    mcpRemote: { kind: 'ready', path: join(place, 'node_modules/mcp-remote/dist/client.js') },
  };
}

/** A Python with the package `mcp`. */
export async function pinnedPython(): Promise<Pinned> {
  const place = join(FOLDER, 'python');
  const version = await run('python3', ['-c', 'import sys; print(*sys.version_info[:2])']);
  const [major = 0, minor = 0] = version.code === 0 ? version.output.split(' ').map(Number) : [];
  if (major !== OLDEST_PYTHON[0] || minor < OLDEST_PYTHON[1])
    return { kind: 'missing', why: `python3 ${OLDEST_PYTHON.join('.')} or newer, with venv, is needed` };
  const python = join(place, 'bin/python');
  const failure = await installed(place, async () => {
    const made = await run('python3', ['-m', 'venv', place]);
    return made.code === 0 ? run(python, ['-m', 'pip', 'install', '--quiet', ...PYTHON]) : made;
  });
  return failure ?? { kind: 'ready', path: python };
}

/** null: it is there. A half installation is removed, so that the next run begins anew. */
async function installed(
  place: string,
  install: () => Promise<Ended>,
): Promise<(Pinned & { kind: 'missing' }) | null> {
  const mark = join(place, 'versions');
  const versions = [...NPM, ...PYTHON].join('\n');
  const known = existsSync(mark) ? await readFile(mark, 'utf8') : '';
  if (known === versions) return null;
  await rm(place, { recursive: true, force: true });
  await mkdir(place, { recursive: true });
  await writeFile(join(place, 'package.json'), '{"private":true}');
  const { code, output } = await install();
  if (code !== 0) return { kind: 'missing', why: `it cannot be installed: ${output.trim().slice(-300)}` };
  await writeFile(mark, versions);
  return null;
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

async function run(command: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolved) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', (error) => resolved({ code: null, output: error.message }));
    child.once('close', (code) => resolved({ code, output }));
  });
}
