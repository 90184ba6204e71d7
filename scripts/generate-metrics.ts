/** Writes the table of metrics in docs/operations.md, or with --check reports whether it is out of date.
 *  It must not touch anything else on the page. */
import { readFile, writeFile } from 'node:fs/promises';
import { metricsPage } from './metrics-page.ts';

const page = new URL('../docs/operations.md', import.meta.url);
const present = await readFile(page, 'utf8');
const wanted = metricsPage(present);

if (!process.argv.includes('--check')) await writeFile(page, wanted);
else if (wanted !== present) {
  console.error('docs/operations.md is out of date. Run: node scripts/generate-metrics.ts');
  process.exitCode = 1;
}
