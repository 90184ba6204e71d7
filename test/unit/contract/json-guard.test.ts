// What the JSON guard accepts, and where it reports the hazard.
// Must never depend on how deep the stack of the machine is.
import { describe, expect, test } from 'vitest';
import { findJsonHazard, isDeeperThan } from '../../../src/contract/json/json-guard.ts';
import { nested } from '../../contract/hostile-values.ts';

describe('findJsonHazard', () => {
  test.each([
    ['null', null],
    ['a string', 'x'],
    ['plain JSON', { a: [1, { b: null }], c: true }],
    ['an absent member', { a: undefined }],
    ['a constructor that is no object', { constructor: 'x' }],
    ['a constructor without prototype', { constructor: { name: 'x' } }],
    ['a prototype on its own', { prototype: {} }],
    ['64 levels', nested(64, (inner) => [inner])],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
  ])('%s passes', (_name, value) => {
    expect(findJsonHazard(value)).toBeNull();
  });

  test.each([
    ['65 levels', nested(65, (inner) => [inner]), '[0]'.repeat(64)],
    ['__proto__', JSON.parse('{"a":[{"__proto__":1}]}'), 'a[0].__proto__'],
    [
      'constructor.prototype',
      JSON.parse('{"a":{"constructor":{"prototype":{}}}}'),
      'a.constructor.prototype',
    ],
    ['NaN', { a: { 'b c': Number.NaN } }, 'a["b c"]'],
    ['a hole', { a: [1, undefined] }, 'a[1]'],
    ['a bigint', [1n], '[0]'],
    ['a Date', { at: new Date(0) }, 'at'],
    ['a Map', new Map(), ''],
    ['a function', { f: () => {} }, 'f'],
    ['undefined', undefined, ''],
  ])('%s is named by its path', (_name, value, path) => {
    expect(findJsonHazard(value)).toEqual({ path, message: expect.stringMatching(/^(is|holds) /) });
  });

  test.each([
    ['arrays', nested(100_000, (inner) => [inner])],
    ['objects', nested(100_000, (inner) => ({ inner }))],
    ['parsed brackets', JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
  ])('100 000 nested %s are too deep, without an exception', (_name, value) => {
    expect(findJsonHazard(value)?.message).toBe('is nested deeper than 64 levels');
  });

  test('a path stays short, whatever is nested', () => {
    const deep = nested(100, (inner) => ({ ['k'.repeat(50)]: inner }));
    expect(findJsonHazard(deep)?.path.length).toBeLessThanOrEqual(257);
  });

  test('the depth can be chosen', () => {
    expect(findJsonHazard([[1]], { maxDepth: 1 })).toEqual({
      path: '[0]',
      message: 'is nested deeper than 1 levels',
    });
  });

  test('objects with shared sub-objects end the walk', () => {
    expect(findJsonHazard(nested(40, (inner) => ({ left: inner, right: inner })))?.message).toBe(
      'holds too many values',
    );
  });
});

describe('isDeeperThan', () => {
  const nested = (levels: number): unknown =>
    JSON.parse('[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2));

  test('counts levels of lists and objects, however many there are', () => {
    expect([nested(2), nested(512), 'text', null].map((value) => isDeeperThan(value, 512))).toEqual([
      false, false, false, false,
    ]); // prettier-ignore
    expect([nested(514), nested(200_000)].map((value) => isDeeperThan(value, 512))).toEqual([true, true]);
  });

  test('treats a cycle as endless, at once', () => {
    const knot: Record<string, unknown> = {};
    Object.assign(knot, { left: knot, right: [knot, knot] });
    expect(isDeeperThan(knot, 512)).toBe(true);
  });
});
