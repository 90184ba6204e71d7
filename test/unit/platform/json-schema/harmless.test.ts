/** Which schemas and values are checked on the main thread.
 *  It must never allow what may take long there. */
import { describe, expect, test } from 'vitest';
import { harmlessSize, isQuickToCheck } from '../../../../src/platform/json-schema/harmless.ts';

const nested = (levels: number): object =>
  Array.from({ length: levels }).reduce<object>((inner) => ({ items: inner }), {});
const properties = (count: number): object => ({
  properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { type: 'string' }])),
});

describe('a schema', () => {
  test.each([
    ['nothing', {}],
    [
      'types, limits and texts',
      { type: 'object', properties: { a: { type: 'string', maxLength: 3 } }, required: ['a'] },
    ],
    [
      'properties that are called like keywords',
      { properties: { pattern: { type: 'string' }, format: {}, $ref: {} } },
    ],
    ['formats that are read in one pass', { properties: { at: { type: 'string', format: 'date-time' } } }],
    ['unions', { anyOf: [{ type: 'string' }, { type: 'number' }] }],
    ['uniqueItems that asks for nothing', { uniqueItems: false }],
  ])('of %s is harmless', (_, schema) => {
    expect(harmlessSize(schema)).toBeGreaterThan(0);
  });

  test.each([
    ['a pattern', { properties: { a: { pattern: 'a' } } }],
    ['patterns of names', { patternProperties: { a: {} } }],
    ['names that follow a pattern', { propertyNames: { pattern: 'a' } }],
    ['items compared with each other', { properties: { a: { uniqueItems: true } } }],
    ['a reference', { $ref: '#' }],
    ['a dynamic reference', { items: { $dynamicRef: '#a' } }],
    ['a recursive reference', { items: { $recursiveRef: '#' } }],
    ['a format that is a long pattern', { format: 'email' }],
    ['values that are patterns', { format: 'regex' }],
    ['many properties', properties(200)],
    ['a long list', { enum: Array.from({ length: 1_000 }, (_unused, n) => n) }],
    ['many levels', nested(30)],
    ['long texts', { description: 'x'.repeat(20_000) }],
    ['long names', { properties: { ['x'.repeat(20_000)]: {} } }],
  ])('with %s is not', (_, schema) => {
    expect(harmlessSize(schema)).toBeNull();
  });
});

describe('a value', () => {
  test.each([
    ['a few members', { a: 1, b: [true, null, 'x'] }, 20, true],
    ['a text of some size', { text: 'x'.repeat(500_000) }, 20, true],
    ['a text of great size', { text: 'x'.repeat(5_000_000) }, 20, false],
    ['many items', Array.from({ length: 20_000 }, () => 1), 20, false],
    ['many items in a small schema', Array.from({ length: 20_000 }, () => 1), 3, true],
    ['many members', Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [n, n])), 20, false],
    ['great depth', JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`), 20, false],
  ])('with %s', (_, value, schemaSize, isQuick) => {
    expect(isQuickToCheck(value, schemaSize)).toBe(isQuick);
  });
});
