/** Placeholders in configuration values.
 *  It must never put a value into an error. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fillIn } from '../../../src/config/environment-values.ts';

test.each([
  ['${A}', '1'],
  ['x-${A}-${B}-y', 'x-1-2-y'],
  ['${A}${A}', '11'],
  ['${MISSING:-default}', 'default'],
  ['${MISSING:-}', ''],
  ['${A:-default}', '1'],
  ['${EMPTY}', ''],
  ['$A ${} $${A}', '$A ${} $1'],
  // VS Code and Cursor write variables of the environment so.
  ['Bearer ${env:A}', 'Bearer 1'],
  ['${env:MISSING:-default}', 'default'],
  ['${DOLLAR:-$}{A}', '${A}'],
  ['${MISSING:-{"a":1}', '{"a":1'],
])('%s becomes %s', (text, expected) => {
  expect(fillIn(text, { A: '1', B: '2', EMPTY: '' })).toEqual({ value: expected, unset: [], unknown: [] });
});

// Servers were started with the placeholder itself as their token.
test.each([
  [
    '${input:api-key}',
    'has the placeholder ${input:api-key}: an editor asks a person for "api-key", a service cannot',
  ],
  ['x ${config:a.b}', 'has the unknown placeholder ${config:a.b}'],
  ['${1A}', 'has the unknown placeholder ${1A}'],
  ['${my-var:-secret}', 'has the unknown placeholder ${my-var}'],
  ['pass${wo#rd}', 'has a placeholder in ${…} that is not the name of a variable'],
])('%s is an error that names it', (text, message) => {
  expect(fillIn({ a: text }, {}).unknown).toEqual([{ path: 'a', message }]);
});

test('a value that looks like a placeholder is not filled in again', () => {
  expect(fillIn('${A}', { A: '${B} $&', B: '2' }).value).toBe('${B} $&');
});

test('every string is filled in, however deep, and nothing else', () => {
  const raw = { a: ['${A}', { b: '${A}' }], n: 1, t: true, z: null, '${A}': 'key' };
  expect(fillIn(raw, { A: 'x' }).value).toEqual({
    a: ['x', { b: 'x' }],
    n: 1,
    t: true,
    z: null,
    '${A}': 'key',
  });
});

test('each unset variable is an error at its path', () => {
  const { unset: errors } = fillIn({ a: ['', '${ONE}'], b: { c: '${TWO} ${THREE}' } }, {});
  expect(errors.map(({ path }) => path)).toEqual(['a[1]', 'b.c', 'b.c']);
  expect(errors.map(({ message }) => message).join()).toMatch(/ONE.*TWO.*THREE/);
});

test('a key named __proto__ stays a key', () => {
  const raw: unknown = JSON.parse('{"__proto__": {"polluted": "${A}"}}');
  const { value } = fillIn(raw, { A: 'x' });
  expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":"x"}}');
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
});

test('any JSON without placeholders stays as it is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      fc.pre(!JSON.stringify(value).includes('${'));
      expect(JSON.stringify(fillIn(value, {}).value)).toBe(JSON.stringify(value));
    }),
  );
});
