/** The package @adjutant/client from `src/client`: one file of JavaScript and one of types, neither of which imports anything.
 *  Reads the declarations in `dist`, so the service is built first. Throws when a part cannot be without an import. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { bundleTypes } from './types.ts';

const ROOT = resolve(import.meta.dirname, '..');
const TARGET = join(import.meta.dirname, 'dist');

/** Writes `client/dist`. */
export async function buildClient(): Promise<void> {
  rmSync(TARGET, { recursive: true, force: true });
  mkdirSync(TARGET, { recursive: true });
  writeFileSync(join(TARGET, 'client.js'), await bundleCode(join(ROOT, 'src/client/http-client.ts')));
  writeFileSync(join(TARGET, 'client.d.ts'), bundleTypes(join(ROOT, 'dist/client/http-client.d.ts')));
  cpSync(join(ROOT, 'LICENSE'), join(import.meta.dirname, 'LICENSE'));
}

async function bundleCode(entry: string): Promise<string> {
  const bundle = await rolldown({
    input: entry,
    platform: 'neutral',
    resolve: { mainFields: ['module', 'main'] },
    // The client checks nothing with schemas: building them has no effect that it needs.
    treeshake: { moduleSideEffects: false, manualPureFunctions: ['z'] },
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  await bundle.close();
  const [chunk, ...others] = output;
  if (others.length > 0 || chunk.imports.length > 0 || chunk.dynamicImports.length > 0)
    throw new Error(`The client is not one file: ${[...chunk.imports, ...chunk.dynamicImports].join(', ')}`);
  return chunk.code;
}

if (import.meta.main) await buildClient();
