/** A Python of the tests with packages in the versions that were tested, installed once into node_modules/.cache.
 *  It must never install into the Python of the machine. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = resolve('node_modules/.cache/adjutant-python');
const PACKAGES = ['redis==8.1.0', 'bullmq==3.4.4'] as const;
/** Packages of the Python client. */
export const CLIENT_PACKAGES = ['httpx==0.28.1', 'pydantic==2.14.4'] as const;
const INSTALL_MS = 600_000;

/**
 * Path of its program; null: there is no python3 of version 3.10 or newer with venv on this machine. `packages`: requirements with exact versions, as pip takes them.
 * Throws when they cannot be installed.
 */
export async function pythonOfTests(packages: readonly string[] = PACKAGES): Promise<string | null> {
  const place = join(CACHE, packages.join('+').replaceAll(/[^\w.+-]+/g, '-'));
  const program = join(place, 'bin/python');
  if (existsSync(program)) return program;
  const hasPython = await run('python3', [
    '-c',
    'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))',
  ]).then(
    () => true,
    () => false,
  );
  if (!hasPython) return null;
  // Under a name of its own until it is whole: several test files may install at once.
  const unfinished = `${place}.${process.pid}.${Date.now()}`;
  await mkdir(CACHE, { recursive: true });
  await run('python3', ['-m', 'venv', unfinished], { timeout: INSTALL_MS });
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
  await run(join(unfinished, 'bin/python'), pip, { timeout: INSTALL_MS });
  await rename(unfinished, place).catch(async () => rm(unfinished, { recursive: true, force: true }));
  return program;
}
