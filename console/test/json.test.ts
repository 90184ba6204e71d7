/** JSON on the console as a tree, and two values with their differences: bounded, never escaped twice, paths that can be copied. */
import { expect, test } from 'vitest';
import { differenceLines } from '../parts/json-differences.ts';
import { findInJson, firstOpen, jsonLines } from '../parts/json-lines.ts';

const all = { folds: new Map<string, boolean>(), limit: 1_000 };
const linesOf = (value: unknown, room = 100) =>
  jsonLines(value, { ...all, open: firstOpen(value, room) }).lines;

test('each line has its JSONPath, whatever the names are', () => {
  const value = { a: [{ 'b c': 1 }], ['__proto__']: null, '"\u202e': true };
  expect(
    linesOf(JSON.parse('{"a":[{"b c":1}],"__proto__":null,"\\"\u202e":true}')).map(({ path }) => path),
  ).toEqual(['$', '$.a', '$.a[0]', '$.a[0]["b c"]', '$.__proto__', `$[${JSON.stringify('"\u202e')}]`]);
  expect(value.a).toHaveLength(1);
});

test('JSON in a text is a tree as well, and says so', () => {
  const lines = linesOf({ content: '{"rows":[1]}', plain: '[not json' });
  expect(lines.map(({ path, isText, text }) => [path, isText, text])).toEqual([
    ['$', false, '2 members'],
    ['$.content', true, '1 member'],
    ['$.content.rows', false, '1 item'],
    ['$.content.rows[0]', false, '1'],
    ['$.plain', false, '[not json'],
  ]);
});

test('a large value is cut at the limit, and opens as far as its lines fit', () => {
  const value = { many: Array.from({ length: 5_000 }, (_, at) => ({ at })), few: { a: 1 } };
  expect([...firstOpen(value, 60)]).toEqual(['$', '$.few']);
  const { lines, isCut } = jsonLines(value, { ...all, open: new Set(['$', '$.many']) });
  expect([lines.length, isCut]).toEqual([1_000, true]);
  const nested = JSON.parse(`${'[['.repeat(2_000)}1${']]'.repeat(2_000)}`) as unknown;
  expect(linesOf(nested).length).toBeLessThanOrEqual(102);
});

test('a fold of the reader wins; long texts are closed until they are opened', () => {
  const value = { a: { b: 1 }, long: 'x'.repeat(1_000) };
  const folds = new Map([['$.a', false]]);
  const { lines } = jsonLines(value, { ...all, folds, open: firstOpen(value, 100) });
  expect(lines.map(({ path, isOpen }) => [path, isOpen])).toEqual([
    ['$', true],
    ['$.a', false],
    ['$.long', false],
  ]);
});

test('a search opens the way to what it finds, in names and in texts, in any case', () => {
  const { matches, open } = findInJson({ deep: [{ Needle: 1 }, { x: 'a NEEDLE' }], no: 2 }, 'needle');
  expect(matches).toEqual(['$.deep[0].Needle', '$.deep[1].x']);
  expect([...open].toSorted()).toEqual(['$', '$.deep', '$.deep[0]', '$.deep[1]']);
  const many = Array.from({ length: 100_000 }, () => 'needle');
  expect(findInJson(many, 'needle')).toMatchObject({ isCut: true });
});

const differ = (a: unknown, b: unknown, isWhole = false) =>
  differenceLines({ a, b }, { ...all, open: new Set(), isWhole });
const signed = (a: unknown, b: unknown, isWhole = false): string[] =>
  differ(a, b, isWhole).lines.map(({ side, path, text }) => {
    return `${side === undefined ? ' ' : side === 'a' ? '-' : '+'} ${path} ${text}`;
  });

test('two values are one tree with the members that only one has, JSON in texts read', () => {
  const a = { same: [1], gone: 1, text: '{"n":1}', kind: [], equal: { x: 1, y: 2 } };
  const b = { same: [1, 2], text: '{"n":2}', kind: {}, ['__proto__x']: 1, equal: { y: 2, x: 1 } };
  expect(signed(a, b)).toEqual([
    '  $ 5 members',
    '  $.same 2 items',
    '+ $.same[1] 2',
    '- $.gone 1',
    '  $.text 1 member',
    '- $.text.n 1',
    '+ $.text.n 2',
    '- $.kind []',
    '+ $.kind {}',
    '+ $.__proto__x 1',
  ]);
  expect(signed({ x: 1, y: 2 }, { x: 1, y: 3 }, true)).toContain('  $.x 1');
  expect(differ({ x: { y: [1] } }, { x: { y: [1] } })).toMatchObject({ differences: 0, isCut: false });
});

test('an item that was inserted into a list is one difference, and lines end at the limit', () => {
  expect(signed(['a', 'b', 'c'], ['a', 'new', 'b', 'c'])).toEqual(['  $ 4 items', '+ $[1] new']);
  expect(signed(['a', 'b', 'c'], ['b', 'c'])).toEqual(['  $ 2 items', '- $[0] a']);
  const cut = differenceLines(
    { a: [1, 2, 3], b: [4, 5, 6] },
    { ...all, open: new Set(), limit: 3, isWhole: false },
  );
  expect([cut.lines.length, cut.isCut]).toEqual([3, true]);
  const ids = differ({ x: [1] }, { x: { y: 1 } }).lines.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});
