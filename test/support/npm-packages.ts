/** Packages of npm that are no dependencies of this repository: frameworks and peers, each list in a folder of its own.
 *  It must install a list whole or not at all. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const CACHE = resolve('node_modules/.cache/adjutant-agents');
const INSTALL_MS = 600_000;

/** A folder with their `node_modules`. `packages`: names with exact versions. */
export async function npmPackages(packages: readonly string[]): Promise<string> {
  const place = join(CACHE, packages.join('+').replaceAll(/[^\w.+-]+/g, '-'));
  if (existsSync(place)) return place;
  const unfinished = `${place}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  await writeFile(join(unfinished, 'package.json'), '{}');
  const install = ['install', '--no-audit', '--no-fund', '--prefix', unfinished, ...packages];
  await promisify(execFile)('npm', install, { timeout: INSTALL_MS });
  await rename(unfinished, place).catch(async () => rm(unfinished, { recursive: true, force: true }));
  return place;
}
