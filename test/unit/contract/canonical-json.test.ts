// One value has one spelling.
// Must never let two different values share a spelling.
import { expect, test } from 'vitest';
import { canonicalJson } from '../../../src/contract/json/canonical-json.ts';

test('keys are sorted at every level, lists keep their order', () => {
  expect(canonicalJson({ b: [{ d: 1, c: 2 }, 3], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1},3]}');
});

test('keys are sorted by code unit, not by locale or as numbers', () => {
  expect(canonicalJson({ é: 1, z: 1, Z: 1, 10: 1, 9: 1 })).toBe('{"10":1,"9":1,"Z":1,"z":1,"é":1}');
});

test('absent members are left out', () => {
  expect(canonicalJson({ a: undefined, b: 1 })).toBe(canonicalJson({ b: 1 }));
});

test.each([
  [1, '1'],
  ['1', '"1"'],
  [{ a: [] }, '{"a":[]}'],
  [{ a: {} }, '{"a":{}}'],
  [{ a: [null] }, '{"a":[null]}'],
])('%j is %s', (value, text) => {
  expect(canonicalJson(value)).toBe(text);
});
