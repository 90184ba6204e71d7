/** The pages are correct: links have targets, samples of the configuration are accepted, every error has its row.
 *  It must not run anything: test/e2e/documents.test.ts does. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERROR_TYPES } from '../src/contract/error-envelope.ts';
import { PROBLEM_CODES } from '../src/contract/problem.ts';
import { shows } from './support/console-block.ts';
import { anchorsOf, blocksOf, linksOf, PAGES, proseOf, rowsOf } from './support/documents.ts';
import { parse } from './support/parsed-config.ts';

const LONGEST_CELL = 200;
/** Words of all pages that are written by hand. Generated reference is not counted. */
const LONGEST_DOCUMENTATION = 35_000;
const MOST_NOT_RUN = 11;
/** Of commands that are not ours: `npm run test:deploy` runs what it can of them. */
/** In the file of an MCP host, which is no configuration of the service. */
const ENTRY_OF_HOST = /"mcpServers": \{\s+"adjutant":/;
const OF_OTHERS = /^needs (docker|a cluster|an account of AWS)/;

describe.each(PAGES)('%s', (page) => {
  test('has links that lead somewhere', () => {
    const broken = linksOf(page).filter(({ target }) => !leadsSomewhere(page, target));
    expect(broken).toEqual([]);
  });

  test('names files that exist', () => {
    const named = proseOf(page).flatMap((line) => [
      ...line.matchAll(/`(?<path>(?:src|test|scripts|docs|schemas|deploy|examples|bench)\/[\w./-]*\w)`/g),
    ]);
    const missing = named.map(({ groups }) => groups?.['path'] ?? '').filter((path) => !existsSync(path));
    expect(missing).toEqual([]);
  });

  test('has tables that can be read', () => {
    const long = rowsOf(page).flatMap(({ line, cells }) =>
      cells.filter((cell) => cell.length > LONGEST_CELL).map(() => line),
    );
    expect(long).toEqual([]);
  });

  test('has blocks of a known kind', () => {
    const unknown = blocksOf(page).filter(
      ({ language }) => !['', 'sh', 'console', 'ts', 'json'].includes(language),
    );
    expect(unknown.map(({ line }) => line)).toEqual([]);
  });

  test('has samples of the configuration that are accepted', () => {
    for (const { code } of blocksOf(page).filter(({ language }) => language === 'json')) {
      if (ENTRY_OF_HOST.test(code)) continue;
      const variables = [...code.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name, 'x'] as const);
      expect(() => parse(JSON.parse(code), Object.fromEntries(variables)), code).not.toThrow();
    }
  });
});

function leadsSomewhere(page: string, target: string): boolean {
  if (/^https?:/.test(target)) return true;
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : join(dirname(page), path);
  return existsSync(file) && (anchor === undefined || anchorsOf(file).has(anchor));
}

/** Pages that a script writes. */
const REFERENCE: ReadonlySet<string> = new Set([
  'docs/commands.md',
  'docs/configuration.md',
  'docs/errors.md',
  'docs/metrics.md',
]);

test('README, ARCHITECTURE and the pages keep their limits of length', () => {
  const words = (page: string): number => readFileSync(page, 'utf8').split(/\s+/).length;
  const pages = globSync('docs/*.md').filter((page) => !REFERENCE.has(page));
  expect(words('README.md')).toBeLessThanOrEqual(1_000);
  expect(Buffer.byteLength(readFileSync('ARCHITECTURE.md'))).toBeLessThanOrEqual(12_288);
  expect(pages.reduce((sum, page) => sum + words(page), 0)).toBeLessThanOrEqual(LONGEST_DOCUMENTATION);
});

test('few blocks are not run, each with a reason', () => {
  const reasons = PAGES.flatMap(blocksOf).flatMap(({ page, line, notRun }) =>
    notRun === null || OF_OTHERS.test(notRun) ? [] : [`${page}:${line} ${notRun}`],
  );
  expect(reasons.length, reasons.join('\n')).toBeLessThanOrEqual(MOST_NOT_RUN);
});

/** Calls that make an error, with its type as a word. */
const MAKERS: readonly RegExp[] = [
  /\b(?:errorEnvelope|failure|unsent|answer|fail|normalizeError)\(\s*'(?<type>[a-z_]+)'/g,
  /\b(?:failRun|requestError|deny)\(\s*run,\s*(?:call,\s*)?'(?<type>[a-z_]+)'/g,
  /\b(?:type|reason): '(?<type>[a-z_]+)',\s*message\b/g,
];

/** Reasons that are not types of errors. */
const REASONS: ReadonlySet<string> = new Set(['deadline', 'too_many']);

function typesInCode(): string[] {
  const sources = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8'));
  const found = sources.flatMap((source) =>
    MAKERS.flatMap((maker) => [...source.matchAll(maker)].map(({ groups }) => groups?.['type'] ?? '')),
  );
  return [...new Set([...ERROR_TYPES, ...found])].filter((type) => !REASONS.has(type)).toSorted();
}

describe('docs/errors.md', () => {
  const explained = new Set(rowsOf('docs/errors.md').map(({ cells }) => cells[0]));

  test('explains every type of error in the code', () => {
    expect(typesInCode().length).toBeGreaterThan(ERROR_TYPES.length);
    expect(typesInCode().filter((type) => !explained.has(`\`${type}\``))).toEqual([]);
  });

  test('explains every code of a refusal', () => {
    expect(PROBLEM_CODES.filter((code) => !explained.has(`\`${code}\``))).toEqual([]);
  });
});

describe('the output of a command', () => {
  test.each([
    ['the same', 'ok in 3 ms', 'ok in 12.5 ms\n'],
    ['broken over lines', '{"a":1,\n"b":2}', '{"a":1,"b":2}'],
    ['with what a page leaves out', 'id …\n…\nend', 'id 7\nmore\nend'],
    ['in another order', 'a\nb', 'b\na'],
    ['after what a terminal overwrites', 'done', 's.t running\ndone'],
  ])('is shown when it is %s', (_, page, output) => expect(shows(page, output)).toBe(true));

  test.each([
    ['another word', 'ok', 'failed'],
    ['a line more', 'a', 'a\nb'],
    ['a line less', 'a\nb', 'a'],
    ['another number', '2 tool calls', '3 tool calls'],
    ['nothing', 'a', ''],
  ])('is not shown when it is %s', (_, page, output) => expect(shows(page, output)).toBe(false));
});
