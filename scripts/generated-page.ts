/** A page that is written partly by hand and partly by a script, between two marks.
 *  It must not touch anything outside the marks. */
import { readFile, writeFile } from 'node:fs/promises';

/** Both paths from the top folder; the marks name the script. */
export interface GeneratedPage {
  readonly page: string;
  readonly script: string;
}

/** The page's text with new content between its marks. Throws when a mark is missing. */
export function withContent({ page, script }: GeneratedPage, text: string, content: string): string {
  const begin = `<!-- What stands below is written by ${script}. -->`;
  const end = `<!-- What stands above is written by ${script}. -->`;
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`${page} has lost a mark of ${script}: "${begin}" or "${end}"`);
  return `${before}${begin}\n\n${content}\n${end}${after}`;
}

/** Writes the page; with --check it only reports, by the exit code too, whether the page is out of date. */
export async function generatePage(
  { page, script }: GeneratedPage,
  rewritten: (text: string) => string,
): Promise<void> {
  const file = new URL(`../${page}`, import.meta.url);
  const present = await readFile(file, 'utf8');
  const wanted = rewritten(present);
  if (!process.argv.includes('--check')) return writeFile(file, wanted);
  if (wanted === present) return;
  console.error(`${page} is out of date. Run: node ${script}`);
  process.exitCode = 1;
}
