/** A server's tools, and the schemas compiled for them.
 *  It must never compile again what has not changed. */
import { expect, test } from 'vitest';
import { createToolList } from '../../../src/mcp/tool-list.ts';

const tool = (name: string, type = 'number') => ({
  name,
  inputSchema: { type: 'object' as const, properties: { a: { type } } },
});

test('a tool that has not changed keeps its compiled schema', () => {
  const first = createToolList('s', [tool('same'), tool('other')], null);
  const same = first.find('same')?.input();
  const other = first.find('other')?.input();
  const second = createToolList('s', [tool('same'), tool('other', 'string')], first);
  expect(second.find('same')?.input()).toBe(same);
  expect(second.find('other')?.input()).not.toBe(other);
  expect(first.find('same')?.input()).toBe(same);
});

test('what is gone is gone', () => {
  const first = createToolList('s', [tool('gone')], null);
  const second = createToolList('s', [], first);
  expect([second.find('gone'), second.definitions]).toEqual([undefined, []]);
});

test('takes title and hints over, and nothing that is not there', () => {
  const annotations = { title: 'Old place', readOnlyHint: true };
  const list = createToolList('s', [{ ...tool('t'), annotations, description: 'does' }], null);
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
  expect(list.find('t')?.output()).toBeNull();
});
