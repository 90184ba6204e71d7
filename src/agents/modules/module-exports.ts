// The exports of a user's module, and the report of a fault of it. Never reads inside the exports.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from '../../config/error.ts';

export const CORRECT_MODULE = {
  fix: 'Correct the module, or the place of the configuration that names it.',
};

/** The objects of one sort that a module exports, alone or in an array. Throws `ConfigError` when there are none. */
export async function exportsOf(
  directory: string,
  path: string,
  place: string,
  claims: (value: object) => boolean,
): Promise<object[]> {
  const url = pathToFileURL(resolve(directory, path)).href;
  const loaded = (await import(url).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw fault(
      path,
      place,
      `cannot be loaded: ${why}`,
      OUTSIDE_MODULE.test(why) ? renamed(path) : CORRECT_MODULE,
    );
  })) as Record<string, unknown>;
  const values = [...new Set(Object.values(loaded).flat())];
  const objects = values.filter((value): value is object => typeof value === 'object' && value !== null);
  const claimed = objects.filter(claims);
  if (claimed.length === 0) throw fault(path, place, 'exports nothing of that kind');
  return claimed;
}

/** Faults that Node finds in `import` and `export` under `"type": "commonjs"`, which npm 11 writes into a new package.json. */
const OUTSIDE_MODULE = /outside a module|Unexpected token 'export'|'import\.meta'/;

function renamed(path: string): { fix: string } {
  const name = path.replace(/\.([jt]s)$/, '.m$1');
  return {
    fix: `Rename the file to ${name}, and its name in the configuration: the package.json of its folder says "type": "commonjs", so that only .mts and .mjs files are ES modules.`,
  };
}

export function fault(
  path: string,
  place: string,
  message: string,
  fix: { fix: string } = CORRECT_MODULE,
): ConfigError {
  return new ConfigError(path, [{ path: place, message }], fix);
}
