/** The console from its sources: `dist/console`.
 *  It must replace an earlier build in one step, and leave nothing when it fails. It prints nothing when it succeeds. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import react from '@vitejs/plugin-react';
import { build, type Plugin } from 'vite';
import { LICENSES, licensesOf } from '../scripts/licenses.ts';

const SOURCES = import.meta.dirname;
const TARGET = resolve(import.meta.dirname, '../dist/console');

/** Throws when the sources have a fault. */
export async function buildConsole(target: string = TARGET): Promise<void> {
  const folder = `${target}.${process.pid}.tmp`;
  try {
    await bundle(folder);
    mkdirSync(dirname(target), { recursive: true });
    replace(folder, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One of two builds at the same time stays: both are of the same sources. */
function replace(folder: string, target: string): void {
  const old = `${folder}.old`;
  try {
    if (existsSync(target)) renameSync(target, old);
    renameSync(folder, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(old, { recursive: true, force: true });
  }
}

/** Writes the licences of everything that the pages hold, also of fonts, which are no modules. */
const withLicenses: Plugin = {
  name: 'with-licenses',
  generateBundle(_, files) {
    const assets = Object.values(files).flatMap((file) =>
      file.type === 'asset' ? file.originalFileNames.map((name) => resolve(SOURCES, name)) : [],
    );
    const source = licensesOf([...this.getModuleIds(), ...assets]);
    this.emitFile({ type: 'asset', fileName: LICENSES, source });
  },
};

async function bundle(folder: string): Promise<void> {
  // Vite builds for development where a test runner has set another one.
  process.env['NODE_ENV'] = 'production';
  await build({
    configFile: false,
    root: SOURCES,
    base: '/console/',
    publicDir: 'public',
    logLevel: 'error',
    plugins: [react(), withLicenses],
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'es2023',
      // The policy allows no data: URL.
      assetsInlineLimit: 0,
      // One file, there from the beginning: a piece that could not be read while the service was away is not asked for again.
      cssCodeSplit: false,
      modulePreload: { polyfill: false },
      manifest: true,
      reportCompressedSize: false,
    },
  });
}

if (import.meta.main) await buildConsole();
