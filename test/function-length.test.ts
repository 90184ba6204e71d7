/** Functions fit on a screen: counts each function's own lines, without those of the functions inside it.
 *  It must not carry exceptions: a factory is as long as its own code, however many methods it returns. */
import { globSync, readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';

const MOST_OWN_LINES = 40;

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

/** Lines with code that belong to no inner function. */
function ownLines(span: Span, all: readonly Span[], lines: readonly string[]): number {
  const inside = all.filter(
    (other) =>
      other !== span && other.first >= span.first && other.last <= span.last && other.last > other.first,
  );
  let count = 0;
  for (let line = span.first; line <= span.last; line += 1) {
    const code = !/^\s*($|\/\/|\/?\*)/.test(lines[line] ?? '');
    if (code && !inside.some(({ first, last }) => line > first && line <= last)) count += 1;
  }
  return count;
}

function tooLong(file: string, source: string): string[] {
  const lines = source.split('\n');
  const all = functionsOf(file, source);
  return all.filter((span) => ownLines(span, all, lines) > MOST_OWN_LINES).map(({ name }) => name);
}

test.each(globSync('{src,scripts,bench}/**/*.{ts,mjs}'))('%s', (file) => {
  expect(tooLong(file, readFileSync(file, 'utf8'))).toEqual([]);
});

test('a function that is long by itself is found, one with long inner functions is not', () => {
  const body = 'step();\n'.repeat(MOST_OWN_LINES + 1);
  const half = 'step();\n'.repeat(MOST_OWN_LINES / 2);
  expect(tooLong('a.ts', `function a() {\n${body}}`)).toEqual(['a.ts:1 a']);
  expect(
    tooLong('b.ts', `function b() {\nfunction c() {\n${half}}\nfunction d() {\n${half}}\nreturn [c, d];\n}`),
  ).toEqual([]);
});
