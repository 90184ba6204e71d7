/** A form from a tool's schema: which fields it has, what is read from it, and where errors belong.
 *  It must never trust the schema: it comes from a stranger. */
import { describe, expect, test } from 'vitest';
import { placedFaults, pathSteps } from '../pages/tools/fault-places.ts';
import { limitWords } from '../pages/tools/field-limits.ts';
import { formFields, type FormField } from '../pages/tools/form-fields.ts';
import { readForm, readWhole, type Written, writtenOf } from '../pages/tools/form-values.ts';

const kinds = (schema: unknown): Record<string, string> | null => {
  const fields = formFields(schema);
  return fields && Object.fromEntries(fields.map(({ name, kind }) => [name, kind]));
};

const MAIL = {
  type: 'object',
  properties: {
    to: { type: 'string', format: 'email', description: 'Whom it goes to' },
    body: { type: 'string' },
    priority: { enum: ['low', 'normal', 1], default: 'normal' },
    copies: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
    urgent: { type: 'boolean' },
    labels: { type: 'array', items: { type: 'string', maxLength: 3 }, maxItems: 2 },
    sender: { $ref: '#/$defs/Sender' },
    nested: { type: 'object', properties: { deep: { type: 'object', properties: { a: {} } } } },
    any: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    maybe: { anyOf: [{ type: 'number' }, { type: 'null' }], description: 'may be left out' },
  },
  required: ['to', 'priority'],
  $defs: {
    Sender: { type: 'object', title: 'Sender', properties: { name: { type: 'string' } }, required: ['name'] },
  },
};

describe('the fields', () => {
  test('of scalars, choices, flat lists and flat objects; everything else is JSON', () => {
    expect(kinds(MAIL)).toEqual({
      to: 'text',
      body: 'lines',
      priority: 'choice',
      copies: 'integer',
      urgent: 'boolean',
      labels: 'list',
      sender: 'group',
      nested: 'json',
      any: 'json',
      maybe: 'number',
    });
    const [to, , , copies] = formFields(MAIL) as FormField[];
    expect(to).toMatchObject({ isRequired: true, description: 'Whom it goes to' });
    expect(copies && limitWords(copies.limits)).toEqual(['1 to 10']);
  });

  test('of a hostile schema end', () => {
    const loop = { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/a' } } };
    expect(kinds(loop)).toEqual({ a: 'json' });
    expect(kinds({ $ref: '#' })).toBeNull();
    expect(kinds({ properties: { self: { $ref: '#' } } })).toEqual({ self: 'json' });
    let deep: unknown = { type: 'string' };
    for (let level = 0; level < 100_000; level += 1) deep = { allOf: [deep] };
    expect(kinds({ properties: { deep } })).toEqual({ deep: 'json' });
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`f${at}`, { type: 'string' }]));
    expect(kinds({ properties: many })).toBeNull();
    const choices = { enum: Array.from({ length: 201 }, (_, at) => at) };
    expect(kinds({ properties: { choices } })).toEqual({ choices: 'json' });
    for (const schema of [true, null, [], 'x', { properties: [] }, { properties: 3 }])
      expect(kinds(schema)).toBeNull();
    const odd = JSON.parse(
      '{"properties":{"__proto__":{"type":"string"},"constructor":{"$ref":"#/toString"}}}',
    );
    expect(formFields(odd)?.map(({ name, kind }) => [name, kind])).toEqual([
      ['__proto__', 'text'],
      ['constructor', 'json'],
    ]);
  });
});

describe('what is read', () => {
  const fields = formFields(MAIL) ?? [];
  const read = (written: Record<string, Written>) =>
    readForm(fields, new Map([...writtenOf(fields), ...Object.entries(written)]));

  test('are the arguments; what nobody wrote is left out', () => {
    const sender = new Map([['name', 'Ada']]);
    const { value, faults } = read({
      to: 'a@b',
      urgent: true,
      labels: ['x', 'y'],
      sender,
      any: '[1]',
      maybe: '2.5',
    });
    expect(faults).toEqual([]);
    expect(value).toEqual({
      to: 'a@b',
      priority: 'normal',
      copies: 1,
      urgent: true,
      labels: ['x', 'y'],
      sender: { name: 'Ada' },
      any: [1],
      maybe: 2.5,
    });
    expect(readForm(fields, writtenOf(fields, value)).value).toEqual(value);
  });

  test('is a fault of its field where it does not fit', () => {
    const { faults } = read({
      copies: '11',
      labels: ['long', 'y', 'z'],
      sender: new Map([
        ['name', ''],
        ['other', 'x'],
      ]),
      any: '{',
      maybe: '0x10',
    });
    expect(faults.map(({ path }) => path.join('/'))).toEqual([
      'to',
      'copies',
      'labels',
      'labels/0',
      'sender/name',
      'any',
      'maybe',
    ]);
    expect(faults[1]?.message).toBe('must be 1 to 10');
    const number = read({ to: 'a', copies: '12345678901234567890' });
    expect(number.faults).toEqual([{ path: ['copies'], message: 'has too many digits' }]);
  });

  test('keeps names that objects have by themselves', () => {
    const odd = formFields(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}')) ?? [];
    const { value } = readForm(odd, new Map([['__proto__', 'x']]));
    expect(JSON.stringify(value)).toBe('{"__proto__":"x"}');
  });

  test('of a whole JSON is an object or a fault', () => {
    expect(readWhole('{"a": 1}')).toEqual({ value: { a: 1 }, faults: [] });
    expect(readWhole('').faults).toEqual([]);
    for (const text of ['[1]', '{', '3']) expect(readWhole(text).faults).toHaveLength(1);
  });
});

describe('an error', () => {
  const fields = formFields(MAIL) ?? [];

  test.each([
    ['arguments.to', ['to']],
    ['directives[0].arguments.labels[1]', ['labels', 1]],
    ['sender.name', ['sender', 'name']],
    ['any.deeper', ['any']],
    ['nobody', []],
    ['', []],
  ])('at %j belongs to %j', (path, place) => {
    expect(placedFaults([{ path, message: 'is wrong' }], fields)[0]?.path).toEqual(place);
  });

  test('may have a hostile path', () => {
    expect(pathSteps('a["b.c"][12].d')).toEqual(['a', 'b.c', 12, 'd']);
    expect(pathSteps('['.repeat(100_000))).toEqual([]);
    expect(pathSteps('a.'.repeat(100_000)).length).toBeLessThanOrEqual(32);
  });
});
