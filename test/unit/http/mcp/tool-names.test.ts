/** Portable names: what hosts accept, one for each tool, the same in every order.
 *  It must not check what a digest is, only that names differ. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type NamedTool, portableNames } from '../../../../src/http/mcp/tool-names.ts';

function namesOf(...tools: NamedTool[]): string[] {
  return [...portableNames(tools).keys()];
}

test.each([
  ['files', 'read', 'files__read'],
  ['files', 'read.all', 'files__read_all'],
  ['a-b', 'c/d e', 'a-b__c_d_e'],
])('%s.%s is %s', (server, tool, name) => {
  expect(namesOf({ server, tool })).toEqual([name]);
});

test('a long name keeps its beginning and ends with a digest of the whole', () => {
  const [long = '', other = ''] = namesOf(
    { server: 's', tool: 'x'.repeat(60) },
    { server: 's', tool: `${'x'.repeat(60)}y` },
  );
  expect(long).toMatch(/^s__x{38}_[0-9a-f]{6}$/);
  expect(other).not.toBe(long);
});

test('all that would share a name get a digest: none of them takes the place of another', () => {
  const shared = [
    { server: 'a', tool: 'b__c' },
    { server: 'a__b', tool: 'c' },
  ];
  const names = portableNames(shared);
  expect([...names.keys()].every((name) => /^a__b__c_[0-9a-f]{6}$/.test(name))).toBe(true);
  expect(names.get('a__b__c')).toBeUndefined();
});

test('a tool that has the name of another one’s digest does not replace it', () => {
  const long = { server: 's', tool: 'x'.repeat(60) };
  const [taken = ''] = namesOf(long);
  const names = portableNames([long, { server: 's', tool: taken.slice(3) }]);
  expect(names.size).toBe(2);
  expect(names.get(taken)?.tool).toBe(taken.slice(3));
});

test('any tools have different names that hosts accept, in any order the same', () => {
  const tool = fc.record({
    server: fc.constantFrom('a', 'a_', 'a__b'),
    tool: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
  });
  const key = ({ server, tool: name }: NamedTool): string => `${server}.${name}`;
  fc.assert(
    fc.property(fc.uniqueArray(tool, { selector: key, maxLength: 20 }), (tools) => {
      const names = portableNames(tools);
      expect([...names.values()]).toHaveLength(tools.length);
      expect([...names.keys()].every((name) => /^[A-Za-z0-9_-]{1,48}$/.test(name))).toBe(true);
      const reversed = portableNames(tools.toReversed());
      for (const [name, each] of names) expect(reversed.get(name)).toEqual(each);
    }),
    { numRuns: 50 },
  );
});
