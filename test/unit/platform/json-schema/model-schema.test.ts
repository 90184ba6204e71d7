/** Which schema a provider gets for a tool, after the reports of what OpenAI, Anthropic and Google refuse.
 *  It must never allow less than the schema of the tool. */
import { describe, expect, test } from 'vitest';
import { modelSchema } from '../../../../src/platform/json-schema/model-schema.ts';

const TEXT = { type: 'string' };

describe('at the root', () => {
  // anthropics/claude-code 40075, langchainjs 9804: "anyOf", "oneOf", "allOf", "not", "enum" are refused at the top level.
  test('the description names a choice of required arguments', () => {
    const choice = [{ required: ['id'] }, { required: ['slug'] }];
    const schema = { type: 'object', properties: { id: TEXT, slug: TEXT }, anyOf: choice };
    expect(modelSchema(schema)).toEqual({
      type: 'object',
      properties: { id: TEXT, slug: TEXT },
      description: `The arguments also match this JSON Schema: ${JSON.stringify({ anyOf: choice })}`,
    });
  });

  // makenotion/notion-mcp-server 340, 341.
  test('the properties of all branches are in one object, and required is what each branch requires', () => {
    const oneOf = [
      { type: 'object', properties: { kind: { const: 'a' }, text: TEXT }, required: ['kind', 'text'] },
      { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind'] },
    ];
    const { description: _, ...fitted } = modelSchema({ oneOf });
    expect(fitted).toEqual({
      type: 'object',
      properties: { kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, text: TEXT },
      required: ['kind'],
    });
  });

  test('what all parts require is required', () => {
    const allOf = [{ properties: { a: TEXT }, required: ['a'] }, { required: ['b'] }];
    expect(modelSchema({ type: 'object', properties: { b: TEXT }, allOf })).toMatchObject({
      properties: { a: TEXT, b: TEXT },
      required: ['a', 'b'],
    });
  });

  test('there are a type and properties in any case', () => {
    expect(modelSchema({})).toEqual({ type: 'object', properties: {} });
    expect(modelSchema({ type: ['object', 'null'], properties: [] as never })).toEqual({
      type: 'object',
      properties: {},
    });
  });

  // beautyfree/appstore-connect-mcp 1: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
  test('the description names an argument whose name the provider refuses', () => {
    const properties = { 'filter[id]': TEXT, limit: { type: 'integer' } };
    const schema = { type: 'object', properties, required: ['filter[id]'], additionalProperties: false };
    expect(modelSchema(schema, { names: /^[a-zA-Z0-9_.-]{1,64}$/ })).toEqual({
      type: 'object',
      properties: { limit: { type: 'integer' } },
      description: 'Further arguments, by name: {"filter[id]":{"type":"string"}}',
    });
  });
});

describe('inside', () => {
  // DEEIX-AI/DEEIX-Chat 546: Google wants the items that a reference names.
  test('a reference is replaced by what it names, and one to itself by its type', () => {
    const $defs = { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } };
    expect(modelSchema({ $ref: '#/$defs/arguments', $defs: { ...$defs, arguments: named('node') } })).toEqual(
      {
        type: 'object',
        properties: { first: { type: 'object', properties: { next: { type: 'object' } } } },
      },
    );
  });

  test('a reference to nowhere allows anything', () => {
    expect(modelSchema(named('missing'))).toEqual({ type: 'object', properties: { first: {} } });
  });

  test.each([
    ['an array has items', { type: 'array' }, { type: 'array', items: {} }],
    ['a tuple is an array', { type: 'array', items: [TEXT] }, { type: 'array', items: { anyOf: [TEXT] } }],
    ['a schema that is true allows anything', true, {}],
    ['the flag of the third draft is left out', { ...TEXT, required: true }, TEXT],
    ['a list of PHP is no properties', { type: 'object', properties: [] }, { type: 'object' }],
    ['an empty enumeration is left out', { ...TEXT, enum: [] }, TEXT],
    [
      'a default is not read as a schema',
      { default: { $ref: '#', items: true } },
      { default: { $ref: '#', items: true } },
    ],
  ])('%s', (_, given, sent) => {
    expect(modelSchema({ type: 'object', properties: { a: given } })).toEqual({
      type: 'object',
      properties: { a: sent },
    });
  });

  test('an argument may be named as a member that every object has', () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"type":"string"}},"required":["constructor"]}',
    ) as object;
    expect(Object.keys(modelSchema(schema as never)['properties'] as object).toSorted()).toEqual([
      '__proto__',
      'constructor',
    ]);
  });

  test('references that multiply end', () => {
    const level = (next: number) => ({
      properties: Object.fromEntries('abcdefgh'.split('').map((name) => [name, { $ref: `#/$defs/${next}` }])),
    });
    const $defs = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [index, level(index + 1)]));
    expect(JSON.stringify(modelSchema({ ...level(0), $defs })).length).toBeLessThan(200_000);
  });
});

function named(definition: string) {
  return { type: 'object', properties: { first: { $ref: `#/$defs/${definition}` } } };
}
