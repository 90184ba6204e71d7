/** The control server as any MCP client meets it: wrong arguments, lists of others, its limits, calls without a run.
 *  It must not apply a directive. */
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { serveControlStdio } from '../../../../src/servers/control/stdio.ts';

const TODO = { content: 'c', active_form: 'a', status: 'pending' };
const ITEM = { ...TODO, id: '1', created_at: 't', completed_at: null };

/** The answer to one call; `todos` is the list of the run, undefined = the call does not say. */
async function called(name: string, args: object, todos?: unknown): Promise<Record<string, unknown>> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  const known = { tiers: [{ name: 'fast' }], agents: [{ name: 'coder', description: 'Writes code' }] };
  const served = serveControlStdio({ version: '0.0.0', ...known }, { input, output }, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await served;
  });
  const _meta = {
    ...(todos === undefined ? {} : { 'adjutant/context': { state: { control: { todos } } } }),
    'adjutant/idempotencyKey': 'key',
  };
  const params = { name, arguments: args, _meta };
  input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`);
  for await (const chunk of output) return JSON.parse(String(chunk)) as Record<string, unknown>;
  throw new Error('no answer');
}

const fault = (message: string): object => ({
  result: { isError: true, content: [{ type: 'text', text: expect.stringContaining(message) as unknown }] },
});

test.each<[string, string, object, unknown, string]>([
  [
    'every wrong item is named',
    'todo_write',
    { todos: [{ ...TODO, status: 'x' }, { content: 'c' }] },
    null,
    'todos[0].status',
  ],
  [
    'a member that every object inherits is no argument',
    'complete',
    { summary: 's', constructor: 1 },
    null,
    'constructor',
  ],
  ['an unknown agent', 'delegate', { target: 'nobody', task: 't' }, null, 'target'],
  ['one stage', 'pipeline', { stages: ['coder'], task: 't' }, null, 'stages'],
  [
    'a list that another tool wrote',
    'todo_write',
    { action: 'add', todos: [TODO] },
    [{ text: 'x' }],
    'another tool wrote the list',
  ],
  [
    'a list that did not come',
    'todo_write',
    { action: 'remove', index: 0 },
    undefined,
    'did not come with the call',
  ],
  ['a place that is empty', 'todo_write', { action: 'remove', index: 0 }, [null, ITEM], 'there is no item 0'],
  [
    'too many items',
    'todo_write',
    { action: 'add', todos: [TODO] },
    Array.from({ length: 200 }, () => ITEM),
    'at most 200 items',
  ],
  [
    'too many bytes',
    'todo_write',
    { todos: Array.from({ length: 99 }, () => ({ ...TODO, content: 'é'.repeat(500) })) },
    null,
    'at most 32768 bytes',
  ],
])('%s is an error that says so', async (_what, name, args, todos, message) => {
  expect(await called(name, args, todos)).toMatchObject(fault(message));
});

test.each(['dance', 'constructor', '__proto__'])('%s is no tool', async (name) => {
  expect(await called(name, {})).toMatchObject({
    error: { code: -32_602, message: `Unknown tool: ${name}` },
  });
});

test('the same call gives its items the same ids, so that a repeat changes nothing', async () => {
  const idsOf = (answer: Record<string, unknown>): string[] => {
    const { content } = answer['result'] as { content: [{ text: string }] };
    return [...content[0].text.matchAll(/"id":"([0-9a-f]{8})"/g)].map(([, id = '']) => id);
  };
  const [first, second] = [
    await called('todo_write', { todos: [TODO, TODO] }),
    await called('todo_write', { todos: [TODO, TODO] }),
  ];
  expect(new Set(idsOf(first)).size).toBe(2);
  expect(idsOf(first)).toEqual(idsOf(second));
});
