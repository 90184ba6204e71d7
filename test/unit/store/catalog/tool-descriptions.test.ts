/** The descriptions of tools for models, and how long a tool is looked for.
 *  It must never need a server. */
import { expect, test } from 'vitest';
import type { CatalogEntry } from '../../../../src/store/catalog/tool-catalog.ts';
import { toolDescriber } from '../../../../src/store/catalog/tool-descriptions.ts';

function entry(server: string, status: CatalogEntry['status'], ...tools: string[]): CatalogEntry {
  const published = tools.map((tool) => ({
    name: `${server}.${tool}`,
    server,
    tool,
    description: `does ${tool}`,
    input_schema: { type: 'object', properties: { of: { const: server } } },
    effect: 'once' as const,
  }));
  return { server, status, tools: published, updatedAt: 0 };
}

/** Answers each read with the next catalog, and the last one for ever. */
function describer(...catalogs: CatalogEntry[][]) {
  const left = [...catalogs];
  let reads = 0;
  const read = async (): Promise<CatalogEntry[]> => {
    reads += 1;
    return (left.length > 1 ? left.shift() : left[0]) ?? [];
  };
  return { describe: toolDescriber({ read }, { patienceMs: 5_000, pollMs: 110 }), reads: () => reads };
}

const ready = [entry('files', 'ready', 'read', 'write'), entry('mail', 'ready', 'read', 'send')];

test('a tool is described under the name it was asked for', async () => {
  const { describe } = describer(ready);
  expect(await describe('files.read')).toEqual({
    name: 'files.read',
    description: 'does read',
    input_schema: { type: 'object', properties: { of: { const: 'files' } } },
  });
  expect(await describe('send')).toMatchObject({ name: 'send', description: 'does send' });
});

test('a tool that no server or several servers offer is not found', async () => {
  const { describe } = describer(ready);
  expect(await describe('files.send')).toBeNull();
  expect(await describe('unheard')).toBeNull();
  expect(await describe('read')).toBeNull();
});

test('a tool of a connecting server is waited for', async () => {
  const { describe, reads } = describer(
    [entry('files', 'connecting')],
    [entry('files', 'connecting')],
    ready,
  );
  expect(await describe('files.read')).toMatchObject({ name: 'files.read' });
  expect(reads()).toBe(3);
});

test('a tool of a server that is away is not waited for, nor one that a reconnecting server does not list', async () => {
  for (const server of [entry('files', 'unavailable'), entry('files', 'connecting', 'write')]) {
    const { describe, reads } = describer([server]);
    expect(await describe('files.read')).toBeNull();
    expect(reads()).toBeLessThanOrEqual(2);
  }
});
