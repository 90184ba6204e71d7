/** A faulty place in a foreign schema, and what the schema refuses without it.
 *  It must never refuse a value that the schema allows under any reading of the faulty place. */
// `then` is a keyword of JSON Schema; nothing here is awaited.
// oxlint-disable unicorn/no-thenable
import { describe, expect, test } from 'vitest';
import { compileSchema } from '../../../../src/platform/json-schema/schema-validator.ts';

type Schema = Record<string, unknown>;

const DRAFT_07 = { $schema: 'http://json-schema.org/draft-07/schema#' };
const DRAFT_2019 = { $schema: 'https://json-schema.org/draft/2019-09/schema' };
const TEXT = { type: 'string' };
const VALUES = [
  'x',
  '',
  1,
  null,
  {},
  { a: 1 },
  { a: 'x' },
  { b: 'x' },
  { a: 1, b: 'x' },
  { a: 'x', b: 1, c: 1 },
  { a: { a: 1 } },
  { a: { b: 'x' } },
  [],
  [1],
  ['x'],
  ['x', 1],
  [1, 'x'],
  ['x', 'x'],
  [{ a: 1 }, {}],
];

interface Looked {
  readonly isFaulty: boolean;
  accepts(value: unknown): boolean;
}

function look(schema: Schema): Looked {
  const compiled = compileSchema(schema);
  return {
    isFaulty: !compiled.ok || compiled.unchecked !== null,
    accepts: (value) => !compiled.ok || compiled.validate(value, 'it') === null,
  };
}

/** Values that some reading allows, and the schema with the fault refuses. */
function refusedWrongly(faulty: Looked, readings: readonly Looked[]): unknown[] {
  return VALUES.filter((value) => !faulty.accepts(value) && readings.some(({ accepts }) => accepts(value)));
}

/** What the author may have meant. */
const MEANINGS: readonly unknown[] = [
  true,
  false,
  TEXT,
  { type: 'number' },
  { type: 'object' },
  { type: 'array' },
  { required: ['a'] },
  { properties: { a: true } },
  { additionalProperties: true },
  { items: true },
  { prefixItems: [true] },
  { properties: { a: true }, required: ['a'] },
  { enum: [1, 'x'] },
  { minProperties: 1 },
];

const FAULTS: readonly unknown[] = [
  { $ref: 'https://elsewhere.example/a' },
  { type: 'any', nullable: true },
  { properties: [] },
  { prefixItems: TEXT },
  { patternProperties: { '[': true } },
  { $id: 'https://json-schema.org/draft/2020-12/schema' },
  { allOf: [null] },
  { not: null },
  null,
];

/** Schemas with a place for a part. */
const IDIOMS: Readonly<Record<string, (part: unknown) => Schema>> = {
  'allOf, closed': (part) => ({ allOf: [part], properties: { b: TEXT }, unevaluatedProperties: false }),
  'anyOf, closed': (part) => ({ anyOf: [part, { properties: { b: TEXT } }], unevaluatedProperties: false }),
  'oneOf, closed': (part) => ({ oneOf: [part, { properties: { b: TEXT } }], unevaluatedProperties: false }),
  'deep in allOf, closed': (part) => ({ allOf: [{ anyOf: [part] }], unevaluatedProperties: false }),
  'closed by a part': (part) => ({ allOf: [part, { unevaluatedProperties: { type: 'number' } }] }),
  'what is unevaluated': (part) => ({ properties: { b: TEXT }, unevaluatedProperties: part }),
  'closed list': (part) => ({ allOf: [part], unevaluatedItems: false }),
  'closed list of contains': (part) => ({ contains: part, unevaluatedItems: false }),
  'closed, 2019': (part) => ({ ...DRAFT_2019, allOf: [part], unevaluatedProperties: false }),
  'property, closed': (part) => ({ properties: { a: part }, additionalProperties: false }),
  'additional property': (part) => ({ properties: { b: TEXT }, additionalProperties: part }),
  'property names': (part) => ({ propertyNames: part }),
  'pattern property': (part) => ({ patternProperties: { '^a': part }, additionalProperties: false }),
  'dependent schema': (part) => ({ dependentSchemas: { a: part }, unevaluatedProperties: false }),
  dependencies: (part) => ({ ...DRAFT_07, dependencies: { a: part, b: ['a'] } }),
  not: (part) => ({ not: part }),
  'not, deep': (part) => ({ not: { properties: { a: { items: part } }, required: ['a'] } }),
  'not not': (part) => ({ not: { not: part } }),
  if: (part) => ({ if: part, then: { required: ['a'] }, else: { required: ['b'] } }),
  then: (part) => ({ if: { required: ['a'] }, then: part, else: { required: ['b'] } }),
  'if, closed': (part) => ({ if: part, then: { properties: { b: TEXT } }, unevaluatedProperties: false }),
  'first item': (part) => ({ prefixItems: [part], items: false }),
  'first item, 07': (part) => ({ ...DRAFT_07, items: [part], additionalItems: false }),
  items: (part) => ({ prefixItems: [TEXT], items: part }),
  'additional items': (part) => ({ ...DRAFT_07, items: [TEXT], additionalItems: part }),
  contains: (part) => ({ contains: part, minContains: 0, maxContains: 1 }),
  'a reference, closed': (part) => ({ $defs: { part }, $ref: '#/$defs/part', unevaluatedProperties: false }),
  'a reference in not': (part) => ({ $defs: { part }, not: { $ref: '#/$defs/part' } }),
  'a reference in not, read first': (part) => ({ not: { $ref: '#/$defs/part' }, $defs: { part } }),
  'a reference in oneOf': (part) => ({ $defs: { part }, oneOf: [{ $ref: '#/$defs/part' }, TEXT] }),
  'a reference in if': (part) => ({ $defs: { part }, if: { $ref: '#/$defs/part' }, then: false }),
  'a reference in maxContains': (part) => ({
    $defs: { part },
    contains: { $ref: '#/$defs/part' },
    maxContains: 1,
  }),
  'not, after many faults': (part) => ({
    allOf: Array.from({ length: 30 }, () => ({ $ref: 'https://elsewhere.example/many' })),
    not: part,
  }),
};

describe('a faulty part does not make the schema stricter', () => {
  test.each(Object.entries(IDIOMS))('%s', (_name, idiom) => {
    const readings = MEANINGS.map((part) => look(idiom(part)));
    const looked = FAULTS.map((part) => look(idiom(part)));
    // Older versions do not know each keyword.
    const faulty = looked.filter(({ isFaulty }) => isFaulty);
    expect(faulty.length).toBeGreaterThan(FAULTS.length - 4);
    expect(faulty.map((one) => refusedWrongly(one, readings))).toEqual(faulty.map(() => []));
  });
});

test.each<[Schema, ...Schema[]]>([
  [
    { patternProperties: { '^(?<a>a|': TEXT, '^b': TEXT }, additionalProperties: false },
    { patternProperties: { '^a': TEXT, '^b': TEXT }, additionalProperties: false },
  ],
  [
    { patternProperties: [], additionalProperties: false },
    { patternProperties: { '^a': TEXT }, additionalProperties: false },
  ],
  [
    { properties: ['a', 'b'], additionalProperties: false },
    { properties: { a: {}, b: {} }, additionalProperties: false },
  ],
  [
    { prefixItems: TEXT, items: false },
    { prefixItems: [TEXT], items: false },
  ],
  [
    { contains: TEXT, minContains: '0' },
    { contains: TEXT, minContains: 0 },
  ],
  [
    { contains: TEXT, minContains: 0, maxContains: '2' },
    { contains: TEXT, minContains: 0, maxContains: 2 },
  ],
  [
    { type: 'text', nullable: true, minLength: 1 },
    { type: 'string', nullable: true, minLength: 1 },
  ],
  [
    {
      $defs: { t: TEXT },
      items: { $id: 'https://json-schema.org/draft/2020-12/schema', $defs: { t: {} }, $ref: '#/$defs/t' },
    },
    {
      $defs: { t: TEXT },
      items: { $defs: { t: {} } },
    },
  ],
])('a faulty keyword does not make the others stricter: %j', (faulty, ...readings) => {
  expect([faulty, ...readings].map((schema) => look(schema).isFaulty)).toEqual([
    true,
    ...readings.map(() => false),
  ]);
  expect(refusedWrongly(look(faulty), readings.map(look))).toEqual([]);
});

test('what is beside the fault is still checked', () => {
  const closed = { properties: { b: TEXT }, additionalProperties: false };
  const { accepts } = look({ allOf: [{ $ref: 'https://elsewhere.example/a' }], ...closed });
  expect([{ b: 'x' }, { b: 1 }, { c: 1 }].map(accepts)).toEqual([true, false, false]);
});
