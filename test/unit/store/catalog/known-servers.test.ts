/** The MCP servers that a submitter knows, and when it reads the catalog again.
 *  It must never keep a submission waiting for a read that it does not need. */
import { expect, test } from 'vitest';
import type { CatalogEntry, ToolCatalog } from '../../../../src/store/catalog/tool-catalog.ts';
import { knownServers } from '../../../../src/store/catalog/catalog.ts';

function entry(server: string, ...tools: string[]): CatalogEntry {
  const published = tools.map((tool) => ({
    name: `${server}.${tool}`,
    server,
    tool,
    input_schema: {},
    effect: 'once' as const,
  }));
  return { server, status: 'ready', tools: published, updatedAt: 0 };
}

/** A catalog whose reads are counted and answered by hand. */
function setUp(configured: string[] = []) {
  const reads: PromiseWithResolvers<CatalogEntry[]>[] = [];
  const catalog: Pick<ToolCatalog, 'read'> = {
    read: () => {
      const read = Promise.withResolvers<CatalogEntry[]>();
      reads.push(read);
      return read.promise;
    },
  };
  const clock = { now: 1_000_000 };
  return { clock, reads, source: knownServers(catalog, configured, () => clock.now) };
}

test('the first submission waits for the catalog, and all first ones for one read', async () => {
  const { source, reads } = setUp(['configured']);
  const both = Promise.all([source.current(), source.current()]);
  expect(reads).toHaveLength(1);
  reads[0]?.resolve([entry('files', 'read')]);
  const [first, second] = await both;
  expect([...first]).toEqual([
    ['configured', null],
    ['files', ['read']],
  ]);
  expect(second).toBe(first);
});

test('a fresh answer is used again without a read; a stale one too, while a new one is on its way', async () => {
  const { source, reads, clock } = setUp();
  const first = source.current();
  reads[0]?.resolve([entry('a')]);
  await first;
  clock.now += 1_000;
  await source.current();
  expect(reads).toHaveLength(1);
  clock.now += 1;
  expect([...(await source.current()).keys()]).toEqual(['a']);
  expect(reads).toHaveLength(2);
});

test('an unknown name causes another read, but not at once after the last read', async () => {
  const { source, reads, clock } = setUp();
  const first = source.current();
  reads[0]?.resolve([]);
  await first;
  expect((await source.recheck()).size).toBe(0);
  clock.now += 100;
  const again = source.recheck();
  reads[1]?.resolve([entry('new', 'tool')]);
  expect((await again).get('new')).toEqual(['tool']);
});

test('an entry of the catalog wins over the bare name in the configuration', async () => {
  const { source, reads } = setUp(['files']);
  const current = source.current();
  reads[0]?.resolve([entry('files', 'read')]);
  expect((await current).get('files')).toEqual(['read']);
});

test('a failed first read fails the submission, and the next one reads again', async () => {
  const { source, reads } = setUp();
  const first = source.current();
  reads[0]?.reject(new Error('Connection is closed.'));
  await expect(first).rejects.toThrow('Connection is closed.');
  const second = source.current();
  reads[1]?.resolve([entry('a')]);
  expect((await second).has('a')).toBe(true);
});

test('a failed later read changes nothing', async () => {
  const { source, reads, clock } = setUp();
  const first = source.current();
  reads[0]?.resolve([entry('a')]);
  await first;
  clock.now += 2_000;
  await source.current();
  reads[1]?.reject(new Error('Connection is closed.'));
  expect((await source.current()).has('a')).toBe(true);
});

test('a tool that was left out is known by its name, so that its worker can say why', async () => {
  const { source, reads } = setUp();
  const known = source.current();
  reads[0]?.resolve([{ ...entry('files', 'read'), faults: [{ tool: 'write', message: 'has no name' }] }]);
  expect((await known).get('files')).toEqual(['read', 'write']);
});
