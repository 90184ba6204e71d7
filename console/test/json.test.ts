/** JSON on the console as a tree, and two values with their differences: bounded, never escaped twice, paths that can be copied. */
import { expect, test } from 'vitest';
import { jsonDifferences } from '../parts/json-differences.ts';
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

test('a large value is cut at the limit, and opens as far as there is room', () => {
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

test('two values differ at the places where they do, with JSON in texts read', () => {
  const a = { same: [1], gone: 1, text: '{"n":1}', kind: [] };
  const b = { same: [1, 2], text: '{"n":2}', kind: {}, ['__proto__x']: 1 };
  expect(jsonDifferences(a, b, 10)).toEqual({
    differences: [
      { path: '$.same[1]', b: 2 },
      { path: '$.gone', a: 1 },
      { path: '$.text.n', a: 1, b: 2 },
      { path: '$.kind', a: [], b: {} },
      { path: '$.__proto__x', b: 1 },
    ],
    isCut: false,
  });
  expect(jsonDifferences([1, 2, 3], [4, 5, 6], 2)).toMatchObject({ isCut: true, differences: { length: 2 } });
});
