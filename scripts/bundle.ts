/** Sources in few files: a process that reads them starts sooner and takes less memory than with a file for each module.
 *  Each module keeps the place from which it finds the files beside it. */
import { join, posix, relative, resolve, sep } from 'node:path';
import { type OutputOptions, type Plugin, rolldown, type RolldownOptions } from 'rolldown';

const PLACE = /"adjutant-place:(?<place>[^"]+)"/g;

/** `import.meta.url` of a module is the file that it would be without a bundle, wherever the chunk lies. */
function ownPlaces(root: string) {
  return {
    name: 'own-places',
    transform: {
      filter: { code: 'import.meta.url' },
      handler(code: string, id: string): string | null {
        const path = relative(root, id).replaceAll(sep, '/');
        if (/^\.\.|node_modules/.test(path)) return null;
        return code.replaceAll('import.meta.url', `"adjutant-place:${path.replace(/\.ts$/, '.js')}"`);
      },
    },
    renderChunk(code: string, { fileName }: { fileName: string }): string {
      return code.replaceAll(PLACE, (_, place: string) => {
        const path = posix.relative(posix.dirname(fileName), place);
        return `new URL(${JSON.stringify(path.startsWith('.') ? path : `./${path}`)}, import.meta.url).href`;
      });
    },
  };
}

/** A file with a character beyond Latin-1 takes two bytes of memory for each of its characters. */
const inLatin1: Plugin = {
  name: 'in-latin-1',
  generateBundle(_, files) {
    for (const file of Object.values(files))
      if (file.type === 'chunk')
        file.code = file.code.replaceAll(
          /[^\0-\xff]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        );
  },
};

export interface Bundle extends Pick<RolldownOptions, 'external'> {
  /** Folder of the sources; a file below it has the same path below `to`. */
  readonly root: string;
  readonly to: string;
  /** Modules that are imported or started by their path, below `root`. */
  readonly entries: readonly string[];
  readonly plugins?: readonly Plugin[];
  readonly output: OutputOptions;
}

export async function bundleSources({ root, to, entries, plugins = [], output, ...options }: Bundle) {
  const from = resolve(root);
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry.replace(/\.ts$/, ''), join(from, entry)])),
    platform: 'node',
    plugins: [ownPlaces(from), inLatin1, ...plugins],
    resolve: { conditionNames: ['adjutant-source', 'node', 'import'], mainFields: ['module', 'main'] },
    logLevel: 'silent',
    ...options,
  });
  await bundle.write({
    dir: to,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    ...output,
  });
  await bundle.close();
}
