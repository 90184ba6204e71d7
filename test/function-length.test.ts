/** Most functions fit on a screen: counts each function's own lines, without those of the functions inside it.
 *  A factory of many short functions is a module, whose size the limit of its file bounds. */
import { globSync, readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, test } from 'vitest';

/** Lines with code, without those of inner functions. */
const MOST_OWN_LINES = 60;

interface Span {
  readonly name: string;
  readonly first: number;
  readonly last: number;
}

interface FunctionNode {
  readonly start: number;
  readonly end: number;
  readonly id?: { readonly name?: string } | null;
}

/** Every function of the source, with its first and last line. */
function functionsOf(file: string, source: string): Span[] {
  const starts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineAt = (offset: number): number => starts.findLastIndex((start) => start <= offset);
  const spans: Span[] = [];
  const note = (node: FunctionNode): void => {
    const first = lineAt(node.start);
    spans.push({ name: `${file}:${first + 1} ${node.id?.name ?? ''}`.trim(), first, last: lineAt(node.end) });
  };
  const visitor = new Visitor({
    FunctionDeclaration: note,
    FunctionExpression: note,
    ArrowFunctionExpression: note,
  });
  visitor.visit(parseSync(file, source).program);
  return spans;
}

/** The numbers of the lines of a function that have code. */
function codeLines({ first, last }: Span, lines: readonly string[]): number[] {
  const numbers = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
  return numbers.filter((number) => !/^\s*($|\/\/|\/?\*)/.test(lines[number] ?? ''));
}

function isTooLong(span: Span, all: readonly Span[], lines: readonly string[]): boolean {
  const inside = all.filter(
    (other) =>
      other !== span && other.first >= span.first && other.last <= span.last && other.last > other.first,
  );
  const code = codeLines(span, lines);
  const own = code.filter((line) => !inside.some(({ first, last }) => line > first && line <= last));
  return own.length > MOST_OWN_LINES;
}

function tooLong(file: string, source: string): string[] {
  const lines = source.split('\n');
  const all = functionsOf(file, source);
  return all.filter((span) => isTooLong(span, all, lines)).map(({ name }) => name);
}

test.each(globSync('{src,console,scripts,bench}/**/*.{ts,tsx,mjs}'))('%s', (file) => {
  expect(tooLong(file, readFileSync(file, 'utf8'))).toEqual([]);
});

describe('the rule', () => {
  const steps = (count: number): string => 'step();\n'.repeat(count);
  const holding = (count: number): string =>
    `function a() {\n${`function b() {\n${steps(count)}}\n`.repeat(2)}return b;\n}`;

  test('finds a function that is long by itself', () => {
    expect(tooLong('a.ts', `function a() {\n${steps(MOST_OWN_LINES)}}`)).toEqual(['a.ts:1 a']);
    expect(tooLong('a.ts', `function a() {\n${steps(MOST_OWN_LINES - 2)}}`)).toEqual([]);
  });

  test('counts no function inside another one', () => {
    expect(tooLong('a.ts', holding(MOST_OWN_LINES - 2))).toEqual([]);
    expect(tooLong('a.ts', holding(MOST_OWN_LINES))).toEqual(['a.ts:2 b', 'a.ts:64 b']);
  });

  test('counts neither comments nor blank lines', () => {
    const quiet = '// why\n\n/** what\n * else */\n'.repeat(MOST_OWN_LINES);
    expect(tooLong('a.ts', `function a() {\n${quiet}}`)).toEqual([]);
  });
});
