// The safe form of each kind of value.
// Must never accept a text that hides the original kind.
import { describe, expect, test } from 'vitest';
import { boundedText, jsonSafe } from '../../../src/contract/json/json-safe.ts';

class Point {
  x = 1;
}

class Refusal extends Error {}

describe('jsonSafe', () => {
  const map = new Map<unknown, unknown>(Object.entries({ a: 1 }));
  map.set(2, 'b').set({ c: 1 }, 'd');
  const set = { __class__: 'Set' };
  const coded = Object.assign(new Error('x'), { code: 'E' });
  const aggregate = new AggregateError([new TypeError('one'), 'two'], 'both');
  const one = { name: 'TypeError', message: 'one' };

  test.each([
    ['JSON', { a: [1, 'b', null, true] }, { a: [1, 'b', null, true] }],
    ['undefined', undefined, null],
    ['an undefined member', { a: undefined }, {}],
    ['an undefined item', [undefined], [null]],
    ['NaN', Number.NaN, 'NaN'],
    ['minus zero', -0, 0],
    ['a bigint', 10n, '10n'],
    ['a huge bigint', 1n << 100_000n, '[BigInt]'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['a function', function named() {}, '[Function named]'],
    ['a Date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an invalid Date', new Date(Number.NaN), 'Invalid Date'],
    ['a Map', map, { __class__: 'Map', a: 1, '2': 'b', '{"c":1}': 'd' }],
    ['a Set', new Set(['a', new Set([1])]), { ...set, values: ['a', { ...set, values: [1] }] }],
    ['a URL', new URL('https://example.org/a?b=1'), 'https://example.org/a?b=1'],
    ['a RegExp', /a+/gi, '/a+/gi'],
    ['an object without a prototype', Object.assign(Object.create(null), { x: 1 }), { x: 1 }],
    ['an instance of a class without a name', new (class {})(), {}],
    ['an object with a constructor of its own', { constructor: 'x' }, { constructor: 'x' }],
    ['a Buffer', Buffer.from('abc'), '[BINARY 3 bytes]'],
    ['an ArrayBuffer', new ArrayBuffer(4), '[BINARY 4 bytes]'],
    ['a class instance', new Point(), { __class__: 'Point', x: 1 }],
    ['an Error', new RangeError('far', { cause: 'b' }), { name: 'RangeError', message: 'far', cause: 'b' }],
    ['an Error with a code', coded, { name: 'Error', message: 'x', code: 'E' }],
    ['an Error of a class without a name of its own', new Refusal('no'), { name: 'Refusal', message: 'no' }],
    ['an AggregateError', aggregate, { name: 'AggregateError', message: 'both', errors: [one, 'two'] }],
    ['a lone surrogate', 'a\ud800', 'a\ufffd'],
    ['a __proto__ key', JSON.parse('{"__proto__":1,"a":1}'), { a: 1 }],
  ])('%s', (_name, value, safe) => {
    expect(jsonSafe(value)).toStrictEqual(safe);
  });

  test('a getter that throws costs only its member', () => {
    const value = {
      a: 1,
      get b(): number {
        throw new Error('no');
      },
    };
    expect(jsonSafe(value)).toStrictEqual({ a: 1, b: '[Unreadable]' });
  });

  test('a cycle ends where it closes, a repeated value does not', () => {
    const part = { a: 1 };
    const cycle: Record<string, unknown> = { left: part, right: part };
    cycle['self'] = cycle;
    expect(jsonSafe(cycle)).toStrictEqual({ left: { a: 1 }, right: { a: 1 }, self: '[Circular]' });
  });

  test('bounds can be chosen', () => {
    const value = { text: 'x'.repeat(30), list: [1, 2, 3, 4], deep: { a: { b: 1 } } };
    expect(jsonSafe(value, { depth: 2, entries: 3, characters: 20 })).toStrictEqual({
      text: 'xxxxxx...[truncated]',
      list: [1, 2, '...[truncated 2 items]'],
      deep: { a: '...[truncated]' },
    });
  });

  test('the number of values is bounded as a whole', () => {
    const rows = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => [1]));
    expect(JSON.stringify(jsonSafe(rows, { values: 10 })).length).toBeLessThan(4000);
  });
});

test('boundedText cuts between characters', () => {
  const text = boundedText('😀'.repeat(100), 21);
  expect(text).toBe('😀😀😀\ufffd...[truncated]');
});
