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
    throw fault(path, place, `cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  })) as Record<string, unknown>;
  const values = [...new Set(Object.values(loaded).flat())];
  const objects = values.filter((value): value is object => typeof value === 'object' && value !== null);
  const claimed = objects.filter(claims);
  if (claimed.length === 0) throw fault(path, place, 'exports nothing of that kind');
  return claimed;
}

export function fault(path: string, place: string, message: string): ConfigError {
  return new ConfigError(path, [{ path: place, message }], CORRECT_MODULE);
}
