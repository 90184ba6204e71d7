/** What of a foreign schema can be checked though the whole cannot be compiled.
 *  It must never refuse a value that the whole schema might allow. */
import { describe, expect, test } from 'vitest';
import { compileSchema } from '../../../../src/platform/json-schema/schema-validator.ts';
import { namesIn } from '../../../../src/platform/json-schema/schema-names.ts';
import { usablePart } from '../../../../src/platform/json-schema/usable-part.ts';

const NUMBER = { n: { type: 'number' } };
const withMember = (a: unknown): Record<string, unknown> => ({
  type: 'object',
  properties: { a, ...NUMBER },
});

function faulty(schema: Record<string, unknown>, value: unknown): string[] | null {
  const compiled = compileSchema(schema);
  if (!compiled.ok) throw new Error(compiled.reason);
  return compiled.validate(value, 'it')?.map(({ path }) => path) ?? null;
}

describe('one fault costs its keyword, and the rest is checked', () => {
  test.each([
    [{ type: 'any' }, 'properties.a.type is not a type of JSON'],
    [{ pattern: '[' }, 'properties.a.pattern is not a regular expression'],
    [
      { $ref: 'https://elsewhere.example/a' },
      'properties.a.$ref (https://elsewhere.example/a) cannot be resolved',
    ],
    [{ $ref: '#/$defs/none' }, 'properties.a.$ref (#/$defs/none) cannot be resolved'],
    [{ required: true }, 'properties.a.required is not a list of names'],
    [{ minimum: 1, exclusiveMinimum: true }, 'properties.a.exclusiveMinimum is not a number'],
    [{ minLength: -1 }, 'properties.a.minLength is not a count'],
    [{ enum: 'x' }, 'properties.a.enum is not a list of values'],
    [{ properties: [] }, 'properties.a.properties is not an object'],
    [
      { patternProperties: { '(': {} } },
      'properties.a.patternProperties has the key "(", which is not a regular expression',
    ],
    [{ anyOf: {} }, 'properties.a.anyOf is not a list of schemas'],
    [{ items: [{ type: 'string' }] }, 'properties.a.items is not a schema'],
    [{ anyOf: [{ type: 'string' }, { type: 'what' }] }, 'properties.a.anyOf[1].type is not a type of JSON'],
    [null, 'properties.a is not a schema'],
  ])('%j', (member, fault) => {
    const schema = withMember(member);
    expect(usablePart(schema).faults).toEqual([fault]);
    expect(faulty(schema, { a: 'x', n: 1 })).toBeNull();
    expect(faulty(schema, { a: 'x', n: 'y' })).toEqual(['it.n']);
  });
});

test.each(['not', 'if', 'oneOf'])('a looser schema would turn %s round: it goes as a whole', (keyword) => {
  const inner = { type: 'string', pattern: '[' };
  const schema = withMember({ [keyword]: keyword === 'oneOf' ? [inner, { type: 'string' }] : inner });
  expect(usablePart(schema).part).toEqual(withMember({}));
  expect(faulty(schema, { a: 'x' })).toBeNull();
});

test.each([
  [{ $ref: '#' }, { a: { n: 'x' } }],
  [{ $ref: '#/properties/n' }, { a: 'x' }],
  [{ $ref: '#/$defs/s~1t' }, { a: 1 }],
  [{ $ref: '#/definitions/d' }, { a: 1 }],
  [{ $ref: '#anchor' }, { a: 1 }],
  [{ $ref: 'inner' }, { a: 1 }],
])('a reference within the schema is checked: %j', (member, value) => {
  const text = { type: 'string' };
  const $defs = { 's/t': text, anchored: { ...text, $anchor: 'anchor' }, inner: { ...text, $id: 'inner' } };
  const schema = { ...withMember(member), $defs, definitions: { d: text } };
  expect(usablePart(schema).faults).toEqual([]);
  expect(faulty(schema, value)).toHaveLength(1);
});

test('what is no keyword is not looked into', () => {
  const schema = {
    ...withMember({ default: { type: 'any' }, enum: [{ $ref: 'x' }] }),
    'x-type': { type: 'any' },
  };
  expect(usablePart(schema)).toEqual({ part: schema, faults: [] });
});

test('a reference may name an id by its last steps', () => {
  const $defs = { a: { $id: 'https://elsewhere.example/x/y/z' } };
  const faultsOf = ($ref: string): number => usablePart({ $defs, allOf: [{ $ref }] }).faults.length;
  const named = ['z', 'y/z', 'x/y/z', 'elsewhere.example/x/y/z', 'https://elsewhere.example/x/y/z#'];
  expect(named.map(faultsOf)).toEqual([0, 0, 0, 0, 0]);
  expect(['y', '/z/', 'lsewhere.example/x/y/z', 'w/z'].map(faultsOf)).toEqual([1, 1, 1, 1]);
});

test('an id of very many steps has few names', () => {
  const { ids } = namesIn({ $id: `${'a/'.repeat(10_000)}z` });
  expect([ids.size, ids.has('z'), ids.has('a/a/z')]).toEqual([17, true, true]);
});

test('a fault is short, whatever its place is called', () => {
  const [fault = ''] = usablePart(
    withMember({ properties: { ['😀'.repeat(1_000)]: { type: 'any' } } }),
  ).faults;
  expect(fault).toMatch(/😀… is not a type of JSON$/u);
  expect(fault.length).toBeLessThan(300);
});
