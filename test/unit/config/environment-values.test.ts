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
  ['$A ${} ${1A} $${A}', '$A ${} ${1A} $1'],
])('%s becomes %s', (text, expected) => {
  expect(fillIn(text, { A: '1', B: '2', EMPTY: '' })).toEqual({ value: expected, errors: [] });
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
  const { errors } = fillIn({ a: ['', '${ONE}'], b: { c: '${TWO} ${THREE}' } }, {});
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
