/** Patterns over tool names, compared with equivalent regular expressions.
 *  It must not need a regular expression in the code. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toolMatches } from '../../../src/contract/tool/tool-pattern.ts';

test.each([
  ['everything.echo', 'everything.echo', true],
  ['everything.echo', 'everything.echo2', false],
  ['everything.*', 'everything.echo', true],
  ['everything.*', 'everything', false],
  ['*', '', true],
  ['*.read_*', 'files.read_text', true],
  ['*.read_*', 'files.write', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a*b*c', 'axxbxxbxxc', true],
  ['a.c', 'abc', false],
])('%s and %s: %s', (pattern, name, matches) => {
  expect(toolMatches(pattern, name)).toBe(matches);
});

test('any pattern means what its regular expression means', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 });
  fc.assert(
    fc.property(text, name, (pattern, tool) => {
      const expression = pattern.split('*').map((part) => part.replaceAll('.', String.raw`\.`));
      expect(toolMatches(pattern, tool)).toBe(new RegExp(`^${expression.join('.*')}$`, 's').test(tool));
    }),
    { numRuns: 2_000 },
  );
});
