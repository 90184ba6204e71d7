/** The licences of the packages whose code, styles or fonts a bundle holds: their texts have to come with it.
 *  Throws for a package without a licence. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Name of the file beside the bundle. */
export const LICENSES = 'LICENSES';

const PACKAGE = /^(?<folder>.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** `files`: absolute paths of everything that the bundle was made of, with what a bundler adds to them. */
export function licensesOf(files: Iterable<string>): string {
  const folders = new Set<string>();
  for (const file of files) {
    const folder = PACKAGE.exec(file.replace(/^\0/, ''))?.groups?.['folder'];
    if (folder !== undefined) folders.add(folder);
  }
  const texts = [...folders].map(licenseOf);
  return [...new Set(texts)].toSorted((one, other) => one.localeCompare(other)).join('\n\n');
}

function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
    license?: string;
  };
  const [file] = globSync('{LICEN[CS]E,licen[cs]e}*', { cwd: folder });
  if (file === undefined || license === undefined) throw new Error(`The package ${name} has no licence.`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}`;
}
