/** Published servers, unchanged, over each transport that they support.
 *  It must never replace one by a server of our own: their behaviour is what is tested. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { McpServerOptions } from '../../../src/mcp/server-options.ts';
import { readToolResult } from '../../../src/mcp/tools/tool-result.ts';
import { openPool, textOf } from '../../support/mcp-pool.ts';
import {
  everything,
  filesystem,
  helloWorld,
  type HttpServer,
  memory,
  startEverything,
  startProxy,
} from '../../support/mcp-servers.ts';
import { repeatPolicyOf } from '../../../src/mcp/tools/tool-definition.ts';

async function ownFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'adjutant-mcp-'));
}

async function served(starting: Promise<HttpServer>): Promise<McpServerOptions> {
  const server = await starting;
  onTestFinished(async () => void (await server.child.kill9()));
  return server.options;
}

describe.each([
  { way: 'stdio', era: 'legacy', transport: 'stdio', start: async () => everything() },
  {
    way: 'Streamable HTTP',
    era: 'legacy',
    transport: 'http',
    start: async () => served(startEverything('streamableHttp')),
  },
  { way: 'SSE', era: 'legacy', transport: 'sse', start: async () => served(startEverything('sse')) },
  { way: 'mcp-proxy', era: 'modern', transport: 'http', start: async () => served(startProxy()) },
])('server-everything over $way', ({ era, transport, start }) => {
  test('calls a tool, reads progress and structured content', async () => {
    const { call, logs } = openPool(await start());
    expect(textOf(await call('get-sum', { a: 2, b: 3 }))).toContain('5');
    const progress: number[] = [];
    const long = await call(
      'trigger-long-running-operation',
      { duration: 0.5, steps: 5 },
      { onProgress: (note) => progress.push(note.progress) },
    );
    expect(textOf(long)).toContain('completed');
    expect(progress).toContain(4);
    const weather = await call('get-structured-content', { location: 'New York' });
    expect(weather).toMatchObject({ kind: 'result', result: { structuredContent: { temperature: 33 } } });
    const ready = logs.find((line) => line.message === 'MCP server ready');
    expect(ready?.fields).toMatchObject({
      server: transport === 'http' && era === 'modern' ? 'proxy' : 'everything',
      era,
      transport,
    });
  });

  test('reads images, resources and links', async () => {
    const { call } = openPool(await start());
    const image = await call('get-tiny-image');
    if (image.kind !== 'result') throw new Error(JSON.stringify(image));
    const { result, content } = readToolResult(image.result);
    expect(result).toMatchObject({ ok: true, payload: { content: [{}, { type: 'image' }, {}] } });
    expect(content).toMatch(/"bytes":\d{4}/);
    const links = await call('get-resource-links', { count: 3 });
    if (links.kind !== 'result') throw new Error(JSON.stringify(links));
    const items = links.result.content ?? [];
    expect(items.filter((item) => (item as { type: string }).type === 'resource_link')).toHaveLength(3);
  });
});

test('server-filesystem reads and writes inside its folder and declares which tools may be repeated', async () => {
  const folder = await ownFolder();
  await writeFile(join(folder, 'a.txt'), 'hello');
  const { pool, call } = openPool(filesystem(folder));
  expect(textOf(await call('read_text_file', { path: join(folder, 'a.txt') }))).toBe('hello');
  await call('write_file', { path: join(folder, 'b.txt'), content: 'written' });
  expect(await readFile(join(folder, 'b.txt'), 'utf8')).toBe('written');
  const outside = await call('read_text_file', { path: '/etc/hostname' });
  expect(outside).toMatchObject({ kind: 'result', result: { isError: true } });
  const effects = (pool.tools('filesystem') ?? []).map((tool) => [
    tool.name,
    repeatPolicyOf(tool.annotations),
  ]);
  expect(Object.fromEntries(effects)).toMatchObject({
    read_text_file: 'read',
    write_file: 'idempotent',
    edit_file: 'once',
  });
});

test('server-memory loses concurrent writes, and none when it is marked serial', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `entity-${index}`);
  const remember = async (serial: boolean): Promise<number> => {
    const file = join(await ownFolder(), 'memory.jsonl');
    const { call } = openPool({ ...memory(file), serial });
    await Promise.all(
      names.map(async (name) =>
        textOf(
          await call('create_entities', { entities: [{ name, entityType: 'thing', observations: [] }] }),
        ),
      ),
    );
    return (await readFile(file, 'utf8')).trim().split('\n').length;
  };
  expect(await remember(false)).toBeLessThan(names.length);
  expect(await remember(true)).toBe(names.length);
});

test('mcp-hello-world says nothing about its tools, so each counts as once', async () => {
  const { pool, call } = openPool(helloWorld());
  expect(textOf(await call('add', { a: 2, b: 3 }))).toContain('5');
  const effects = (pool.tools('hello') ?? []).map((tool) => repeatPolicyOf(tool.annotations));
  expect(new Set(effects)).toEqual(new Set(['once']));
});
