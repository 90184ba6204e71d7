/** The pages of the documentation, parsed for tests: their blocks of code, links, headings and tables.
 *  It must not know what is right for a page: it only parses it. */
import { readFileSync } from 'node:fs';
import { anchorOf } from '../../scripts/docs.ts';

export { PAGES } from '../../scripts/docs.ts';

export interface Block {
  readonly page: string;
  /** Of its first line of code, from 1. */
  readonly line: number;
  /** `sh`, `console`, `ts`, `json`; empty for pictures. */
  readonly language: string;
  readonly code: string;
  /** Why it cannot run here, as the comment before it says; null: it runs. */
  readonly notRun: string | null;
}

export interface Link {
  readonly line: number;
  readonly target: string;
}

const FENCE = /^```(?<language>[a-z]*)$/;
const NOT_RUN = /^<!-- not run: (?<reason>.+) -->$/;

export function blocksOf(page: string): Block[] {
  const lines = linesOf(page);
  const blocks: Block[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const language = FENCE.exec(lines[index] ?? '')?.groups?.['language'];
    if (language === undefined) continue;
    const end = lines.indexOf('```', index + 1);
    if (end < 0) throw new Error(`${page}:${index + 1} opens a block that does not end`);
    const code = lines.slice(index + 1, end).join('\n');
    const notRun = NOT_RUN.exec(lines[index - 1] ?? '')?.groups?.['reason'] ?? null;
    blocks.push({ page, line: index + 2, language, code, notRun });
    index = end;
  }
  return blocks;
}

export function linksOf(page: string): Link[] {
  return proseOf(page).flatMap((text, index) =>
    [...text.replaceAll(/`[^`]*`/g, '').matchAll(/\]\((?<target>[^)\s]+)\)/g)].map(({ groups }) => ({
      line: index + 1,
      target: groups?.['target'] ?? '',
    })),
  );
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: string): Set<string> {
  const headings = proseOf(page).flatMap(
    (text) => /^#{1,6} (?<title>.*)$/.exec(text)?.groups?.['title'] ?? [],
  );
  return new Set(headings.map(anchorOf));
}

/** The cells of every table, each row with its line. */
export function rowsOf(page: string): { line: number; cells: string[] }[] {
  return proseOf(page).flatMap((text, index) =>
    text.startsWith('| ') ? [{ line: index + 1, cells: cellsOf(text) }] : [],
  );
}

function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The lines of a page, with those of its blocks empty. */
export function proseOf(page: string): string[] {
  let inside = false;
  return linesOf(page).map((text) => {
    const isFence = text.startsWith('```');
    if (isFence) inside = !inside;
    return inside || isFence ? '' : text;
  });
}

function linesOf(page: string): string[] {
  return readFileSync(page, 'utf8').split('\n');
}

/** What a piece of TypeScript assumes, and the declaration for it. */
const GIVEN: Readonly<Record<string, string>> = {
  client: `declare const client: import('adjutant/client').DirectiveClient;`,
  request_id: 'declare const request_id: string;',
  call_id: 'declare const call_id: string;',
};

/** The declarations that a piece needs before it; none of a whole program. */
export function givenTo(code: string): string[] {
  return Object.entries(GIVEN).flatMap(([name, declaration]) => {
    const isUsed = new RegExp(`\\b${name}\\b`).test(code);
    const isMade = new RegExp(`const (\\{ )?${name}\\b(?!:)`).test(code);
    return isUsed && !isMade ? [declaration] : [];
  });
}
