/** Tools with a wrong description: each is left out or mended by itself, and the others of its server stay.
 *  It must never pass because a server listed nothing: every test calls a good tool. */
import { describe, expect, test } from 'vitest';
import type { ToolDefinition, ToolFault } from '../../../src/mcp/tools/tool-definition.ts';
import { failureOf, openPool, textOf } from '../../support/mcp-pool.ts';
import { namedTools } from '../../support/mcp-servers.ts';

const SCHEMA = { type: 'object' };

interface Listed {
  readonly tools: readonly ToolDefinition[];
  readonly faults: readonly ToolFault[];
}

/** The tools beside a good one, which is called. */
async function listedWith(raw: unknown, ...cursor: unknown[]): Promise<Listed> {
  const { pool, call } = openPool(namedTools([{ raw }, 'good'], ...cursor));
  let faults: readonly ToolFault[] = [];
  pool.subscribe({ onTools: (_server, _tools, found) => (faults = found) });
  expect(textOf(await call('good'))).toBe('good');
  return { faults, tools: (pool.tools('named') ?? []).filter(({ name }) => name !== 'good') };
}

// Its callers were only told that there is no such tool.
test('a call of a tool that is left out says why', async () => {
  const { call } = openPool(namedTools([{ raw: { name: 'bad' } }, 'good']));
  expect(failureOf(await call('bad')).error).toMatchObject({
    type: 'unknown_tool',
    message: 'The tool "bad" of the MCP server "named" is left out: it has no input schema',
    details: { reason: 'has no input schema' },
  });
});

describe('a tool is left out', () => {
  test.each([
    ['null', null, '#1', 'is not an object'],
    ['text', 'bad', '#1', 'is not an object'],
    ['without a name', { inputSchema: SCHEMA }, '#1', 'has no name'],
    ['with a number as its name', { name: 7, inputSchema: SCHEMA }, '#1', 'has no name'],
    ['without a schema', { name: 'bad' }, 'bad', 'has no input schema'],
    ['with null as its schema', { name: 'bad', inputSchema: null }, 'bad', 'has no input schema'],
    [
      'with a list as its schema',
      { name: 'bad', inputSchema: [SCHEMA] },
      'bad',
      'has an input schema that is not an object',
    ],
    [
      'with arguments of another type',
      { name: 'bad', inputSchema: { type: 'string' } },
      'bad',
      'has an input schema whose type is not "object"',
    ],
    [
      'with properties that are a list',
      { name: 'bad', inputSchema: { ...SCHEMA, properties: ['a'] } },
      'bad',
      'has an input schema whose properties are not an object',
    ],
    [
      'with one required member as a text',
      { name: 'bad', inputSchema: { ...SCHEMA, required: 'a' } },
      'bad',
      'has an input schema whose required members are not a list of names',
    ],
    ['listed again', { name: 'good', inputSchema: SCHEMA }, 'good', 'is listed again'],
  ])('%s', async (_, raw, tool, message) => {
    const { tools, faults } = await listedWith(raw);
    expect(tools).toEqual([]);
    expect(faults).toEqual([{ tool, message: `${message}, and is left out` }]);
  });
});

describe('a tool is kept', () => {
  const bad = { name: 'bad', inputSchema: SCHEMA };

  test.each([
    ['true as its schema', { inputSchema: true }],
    // php-sdk 405: an empty object of PHP is an empty list.
    ['an empty list as its schema', { inputSchema: [] }],
    ['properties that are an empty list', { inputSchema: { ...SCHEMA, properties: [] } }],
    ['members that are empty lists', { annotations: [], _meta: [], execution: [], outputSchema: [] }],
    ['a schema without a type', { inputSchema: { properties: { a: {} } } }],
    [
      'nulls for absent members',
      {
        title: null,
        description: null,
        annotations: null,
        outputSchema: null,
        icons: null,
        _meta: null,
        execution: null,
      },
    ],
    ['nulls in its schema', { inputSchema: { $schema: null, properties: null, required: null } }],
    ['null as a hint', { annotations: { readOnlyHint: null } }],
  ])('with %s', async (_, members) => {
    const { tools, faults } = await listedWith({ ...bad, ...members });
    expect(faults).toEqual([]);
    expect(tools).toMatchObject([{ name: 'bad', inputSchema: { type: 'object' } }]);
  });

  test.each([
    ['title', { title: 7 }],
    ['description', { description: ['a'] }],
    ['annotations', { annotations: 'safe' }],
    ['annotations.readOnlyHint', { annotations: { readOnlyHint: 'yes' } }],
    ['icons', { icons: [{ src: 7 }] }],
    ['execution', { execution: { taskSupport: 'perhaps' } }],
    ['_meta', { _meta: 'none' }],
    ['outputSchema', { outputSchema: 'text' }],
  ])('without the member that is wrong: %s', async (member, members) => {
    const { tools, faults } = await listedWith({ ...bad, ...members });
    expect(faults).toEqual([{ tool: 'bad', message: `has unusable ${member}` }]);
    expect(tools).toEqual([
      {
        server: 'named',
        name: 'bad',
        inputSchema: SCHEMA,
        ...(member.includes('.') ? { annotations: {} } : {}),
      },
    ]);
  });

  test('with any output schema', async () => {
    const outputSchema = { anyOf: [{ type: 'object' }, { type: 'string' }] };
    const { tools, faults } = await listedWith({ ...bad, outputSchema });
    expect([tools[0]?.outputSchema, faults]).toEqual([outputSchema, []]);
  });
});

test.each([null, 0, false])('a list ends with the cursor %s', async (cursor) => {
  expect((await listedWith('bad', cursor)).faults).toHaveLength(1);
});

test('a schema that cannot be compiled is named, and checked as far as it can', async () => {
  const properties = {
    a: { $ref: 'https://elsewhere.example/a.json' },
    n: { type: 'number' },
    self: { $ref: '#' },
  };
  const { call, logs } = openPool(namedTools([{ name: 'odd', inputSchema: { ...SCHEMA, properties } }]));
  expect(textOf(await call('odd', { a: 'x', n: 1 }))).toBe('odd');
  for (const args of [{ n: 'x' }, { self: { n: 'x' } }])
    expect(failureOf(await call('odd', args))).toMatchObject({
      sent: false,
      error: { type: 'validation_error' },
    });
  expect(logs.find(({ level }) => level === 'warn')?.fields['message']).toBe(
    'has an input schema that is checked only in part: properties.a.$ref (https://elsewhere.example/a.json) cannot be resolved',
  );
});

test('a fault is logged once, whatever is listed', async () => {
  const { call, logs } = openPool(namedTools([{ raw: { name: 'bad' } }, 'good']));
  await call('good');
  expect(logs.filter(({ level }) => level === 'warn')).toMatchObject([
    { fields: { server: 'named', tool: 'bad', message: 'has no input schema, and is left out' } },
  ]);
});
