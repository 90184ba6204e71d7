/** The text of a configuration file: what is accepted, and the place of each member.
 *  It must not read a file: the end-to-end tests do. */
import { expect, test } from 'vitest';
import { parseConfigText } from '../../../src/config/file.ts';

test('comments, trailing commas and a byte order mark are accepted', () => {
  const read = parseConfigText('\uFEFF{\n  // why\n  "a": [1, 2,], /* how */\n  "b": {"c": null,},\n}');
  expect(read).toMatchObject({ ok: true, value: { a: [1, 2], b: { c: null } } });
});

test('a member is found by its path, as errors spell it', () => {
  const read = parseConfigText('{\n  "a b": [\n    {"c": 1},\n    {"d": 2}\n  ]\n}');
  if (!read.ok) throw new Error(read.message);
  expect(read.placeOf('["a b"][1].d')).toEqual({ line: 4, column: 6 });
  expect(read.placeOf('["a b"]')).toEqual({ line: 2, column: 3 });
  expect(read.placeOf('')).toEqual({ line: 1, column: 1 });
  expect(read.placeOf('nowhere')).toBeNull();
});

test('a key that every object inherits is an ordinary member', () => {
  const read = parseConfigText('{"__proto__": {"polluted": true}, "constructor": 1}');
  if (!read.ok) throw new Error(read.message);
  expect(Object.keys(read.value as object)).toEqual(['__proto__', 'constructor']);
  expect((read.value as { polluted?: unknown }).polluted).toBeUndefined();
});

test.each([
  ['', 'is not JSON: a value is missing here', { line: 1, column: 1 }],
  ['{"a": "hunter2', 'is not JSON: this text has no closing quote in its line', { line: 1, column: 7 }],
  ['{\n  "a" 1\n}', 'is not JSON: a colon is missing here', { line: 2, column: 7 }],
  ['{"a": 1}\n{', 'is not JSON: nothing may follow the value', { line: 2, column: 1 }],
])('%j is refused with its place, and without a piece of it', (text, message, place) => {
  expect(parseConfigText(text)).toEqual({ ok: false, message, place });
});
