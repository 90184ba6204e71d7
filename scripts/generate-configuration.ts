/** Writes the tables of docs/configuration.md from the schemas, or with --check reports whether they are out of date.
 *  It must not touch anything else on the page. */
import { readFile, writeFile } from 'node:fs/promises';
import { configurationPage } from './configuration-page.ts';

const page = new URL('../docs/configuration.md', import.meta.url);
const present = await readFile(page, 'utf8');
const wanted = configurationPage(present);

if (!process.argv.includes('--check')) await writeFile(page, wanted);
else if (wanted !== present) {
  console.error('docs/configuration.md is out of date. Run: node scripts/generate-configuration.ts');
  process.exitCode = 1;
}
