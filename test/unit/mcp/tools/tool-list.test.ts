/** A server's tools, and the schemas compiled for them.
 *  It must never compile again what has not changed. */
import { expect, test } from 'vitest';
import { createSchemaChecks } from '../../../../src/platform/json-schema/schema-checks.ts';
import { type ToolList, createToolList } from '../../../../src/mcp/tools/tool-list.ts';
import { SILENT } from '../../../../src/platform/telemetry/logger.ts';

const warnings: unknown[] = [];
const logger = { ...SILENT, warn: (fields: unknown) => void warnings.push(fields) };
const tool = (name: string, type = 'number') => ({
  name,
  inputSchema: { type: 'object' as const, properties: { a: { type } } },
});

async function listOf(
  tools: Parameters<typeof createToolList>[0],
  previous: ToolList | null = null,
): Promise<ToolList> {
  return createToolList(tools, { server: 's', previous, logger, schemas: createSchemaChecks() });
}

test('a tool that has not changed keeps its compiled schema', async () => {
  const first = await listOf([tool('same'), tool('other')]);
  const same = first.find('same')?.input;
  const other = first.find('other')?.input;
  const second = await listOf([tool('same'), tool('other', 'string')], first);
  expect(second.find('same')?.input).toBe(same);
  expect(second.find('other')?.input).not.toBe(other);
  expect(first.find('same')?.input).toBe(same);
});

test('removed tools are gone', async () => {
  const second = await listOf([], await listOf([tool('gone')]));
  expect([second.find('gone'), second.definitions]).toEqual([undefined, []]);
});

test('takes title and hints over, and adds no absent ones', async () => {
  const annotations = { title: 'Old place', readOnlyHint: true };
  const list = await listOf([{ ...tool('t'), annotations, description: 'does' }]);
  expect(list.definitions).toEqual([
    {
      server: 's',
      name: 't',
      title: 'Old place',
      description: 'does',
      inputSchema: tool('t').inputSchema,
      annotations,
    },
  ]);
  expect(list.find('t')?.output).toBeNull();
});

test('a schema that cannot be compiled is checked as far as it can, and reported once', async () => {
  const list = await listOf([tool('odd', 'thing')]);
  const message = 'has an input schema that is checked only in part: properties.a.type is not a type of JSON';
  expect(list.faults).toEqual([{ tool: 'odd', message }]);
  expect(list.find('odd')?.input.check({ a: 1 }, 'arguments')).toEqual({ kind: 'passed' });
  expect(list.find('odd')?.input.check([], 'arguments')).toMatchObject({ kind: 'faults' });
  expect((await listOf([tool('odd', 'thing')], list)).faults).toEqual(list.faults);
  expect(warnings).toEqual([{ tool: 'odd', message }]);
});

const members = (count: number): Record<string, { type: string }> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { type: 'thing' }]));

test('a schema of very many values is not looked at on the main thread, and reported once', async () => {
  const schema = { type: 'object' as const, properties: members(1_000) };
  const message = 'has an input schema that is too large to find the part that cannot be checked';
  expect((await listOf([{ name: 'large', inputSchema: schema }])).faults).toEqual([
    { tool: 'large', message },
  ]);
  const smaller = { ...schema, properties: members(900) };
  expect((await listOf([{ name: 'less', inputSchema: smaller }])).faults[0]?.message).toContain(
    'only in part',
  );
});

test('the texts of a fault are short, whatever the server sends', async () => {
  const properties = { ['k'.repeat(100_000)]: { type: 'thing', pattern: '[' } };
  const name = 'n'.repeat(100_000);
  const [fault, ...others] = (await listOf([{ name, inputSchema: { type: 'object', properties } }])).faults;
  expect([fault?.tool.length, others]).toEqual([200, []]);
  expect(fault?.message).toMatch(/^has an input .{1,400}… is not a type of JSON \(and 1 more\)$/);
});

test('others are served while the schemas of many tools are looked at', async () => {
  const inputSchema = { type: 'object' as const, properties: members(900) };
  const tools = Array.from({ length: 20 }, (_, index) => ({ name: `t${index}`, inputSchema }));
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  expect((await listOf(tools)).faults).toHaveLength(20);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(1);
});
