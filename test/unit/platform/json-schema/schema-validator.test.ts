/** Whether a value fits a tool's schema, and where it does not.
 *  It must never pass a value because its schema could not be read. */
import { describe, expect, test } from 'vitest';
import { compileSchema } from '../../../../src/platform/json-schema/schema-validator.ts';

function faults(schema: Record<string, unknown>, value: unknown): Record<string, string> | null {
  const compiled = compileSchema(schema);
  if (!compiled.ok) throw new Error(compiled.reason);
  const found = compiled.validate(value, 'arguments');
  return found === null ? null : Object.fromEntries(found.map(({ path, message }) => [path, message]));
}

const draft07 = 'http://json-schema.org/draft-07/schema#';

describe('schema validator', () => {
  test('a value that fits has no faults', () => {
    expect(
      faults({ type: 'object', properties: { a: { type: 'number' } }, required: ['a'] }, { a: 1 }),
    ).toBeNull();
  });

  test('names each place that does not fit', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'number' },
        list: { type: 'array', items: { type: 'object', required: ['name'] } },
        mode: { enum: ['on', 'off'] },
        kind: { const: 'file' },
        'with space': { type: 'string' },
      },
      required: ['a', 'b'],
      additionalProperties: false,
    };
    const value = { a: 'x', list: [{ name: 1 }, {}], mode: 'no', kind: 'dir', 'with space': 1, extra: 1 };
    expect(faults(schema, value)).toEqual({
      'arguments.a': 'must be number',
      'arguments.b': 'is required',
      'arguments.extra': 'is not allowed',
      'arguments.list[1].name': 'is required',
      'arguments.mode': 'must be one of "on", "off"',
      'arguments.kind': 'must be "file"',
      'arguments["with space"]': 'must be string',
    });
    expect(faults(schema, [])).toEqual({ arguments: 'must be object' });
  });

  test('reads pointers with escapes', () => {
    const schema = { properties: { 'a/b': { properties: { 'c~d': { type: 'null' } } } } };
    expect(faults(schema, { 'a/b': { 'c~d': 1 } })).toEqual({ 'arguments["a/b"]["c~d"]': 'must be null' });
  });

  test.each([
    ['2020-12 when nothing is said', {}, true],
    ['2020-12 by name', { $schema: 'https://json-schema.org/draft/2020-12/schema' }, true],
    ['2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema' }, false],
    ['draft-07', { $schema: draft07 }, false],
    ['draft-04', { $schema: 'http://json-schema.org/draft-04/schema#' }, false],
  ])('follows %s', (_, head, knowsPrefixItems) => {
    const schema = { ...head, type: 'array', prefixItems: [{ type: 'number' }] };
    expect(faults(schema, ['x'])).toEqual(knowsPrefixItems ? { 'arguments[0]': 'must be number' } : null);
  });

  test('checks formats', () => {
    const schema = { properties: { at: { type: 'string', format: 'date-time' } } };
    expect(faults(schema, { at: 'soon' })).toHaveProperty(['arguments.at']);
    expect(faults(schema, { at: '2026-11-20T12:00:00Z' })).toBeNull();
  });

  test('ignores unknown keywords and formats', () => {
    const schema = { type: 'object', 'x-mcp-header': 'Region', properties: { a: { format: 'sha-99' } } };
    expect(faults(schema, { a: 'x' })).toBeNull();
  });

  test.each([
    ['a pattern that is none', { properties: { a: { pattern: '(' } } }],
    ['a reference to the network', { properties: { a: { $ref: 'https://example.com/a.json' } } }],
    ['a type that is none', { type: 'thing' }],
  ])('reports that it cannot compile %s', (_, schema) => {
    expect(compileSchema(schema)).toMatchObject({ ok: true, unchecked: expect.any(String) as string });
  });

  test('what every object has from its prototype is not there unless it is given', () => {
    const names = ['toString', 'constructor', 'hasOwnProperty'];
    const schema = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
    };
    expect(faults(schema, {})).toBeNull();
    expect(faults(schema, { toString: 1 })).toEqual({ 'arguments.toString': 'must be string' });
    for (const name of names) expect(faults({ ...schema, required: [name] }, {})).not.toBeNull();
    expect(faults({ type: 'object', dependentRequired: { toString: ['a'] } }, {})).toBeNull();
  });

  test('two schemas may share an $id', () => {
    const schema = (type: string): Record<string, unknown> => ({ $id: 'https://example.com/tool', type });
    expect(faults(schema('string'), 'x')).toBeNull();
    expect(faults(schema('number'), 'x')).toEqual({ arguments: 'must be number' });
  });

  test('lists one fault of a huge value, twenty of a small one', () => {
    const schema = { type: 'array', items: { type: 'string' } };
    expect(
      Object.keys(
        faults(
          schema,
          Array.from({ length: 100_000 }, () => 1),
        ) ?? {},
      ),
    ).toHaveLength(1);
    expect(
      Object.keys(
        faults(
          schema,
          Array.from({ length: 100 }, () => 1),
        ) ?? {},
      ),
    ).toHaveLength(20);
  });
});
