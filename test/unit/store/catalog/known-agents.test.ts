/** Which tools an agent gets from the catalog, and how long a run waits for them.
 *  It must never need a server. */
import { expect, test } from 'vitest';
import { agentTools } from '../../../../src/store/catalog/known-agents.ts';
import type { CatalogEntry } from '../../../../src/store/catalog/tool-catalog.ts';

function entry(server: string, status: CatalogEntry['status'], ...tools: string[]): CatalogEntry {
  const published = tools.map((tool) => ({
    name: `${server}.${tool}`,
    server,
    tool,
    input_schema: {},
    effect: 'once' as const,
  }));
  return { server, status, tools: published, updatedAt: Date.now() };
}

/** Answers each read with the next catalog, and the last one for ever. */
async function named(patterns: string[], ...catalogs: CatalogEntry[][]) {
  const left = [...catalogs];
  let reads = 0;
  const read = async (): Promise<CatalogEntry[]> => {
    reads += 1;
    return (left.length > 1 ? left.shift() : left[0]) ?? [];
  };
  const tools = await agentTools({ read }, { patienceMs: 500, pollMs: 110 })({ tools: patterns });
  return { names: (tools ?? []).map(({ name }) => name), reads };
}

const ready = [entry('mail', 'ready', 'send', 'read'), entry('files', 'ready', 'read', 'write')];

test.each([
  [['*'], ['files.read', 'files.write', 'mail.read', 'mail.send']],
  [
    ['*.read', 'mail.send'],
    ['files.read', 'mail.read', 'mail.send'],
  ],
  [['files'], []],
  [[], []],
])('the patterns %j select the matching tools, in the order of their names', async (patterns, names) => {
  expect((await named(patterns, ready)).names).toEqual(names);
});

test('tools of a server that no worker serves any more are left out', async () => {
  const gone = { ...entry('old', 'ready', 'read'), served: false };
  expect((await named(['*.read'], [gone, ...ready])).names).toEqual(['files.read', 'mail.read']);
});

test.each([[['files.*']], [['*']], [['fi*']], [['files.read']]])(
  'the patterns %j wait for a server that is connecting',
  async (patterns) => {
    const { names, reads } = await named(
      patterns,
      [entry('files', 'connecting')],
      [entry('files', 'connecting')],
      ready,
    );
    expect(names).toContain('files.read');
    expect(reads).toBe(3);
  },
);

test.each([
  ['another server', entry('files', 'connecting')],
  ['one that is away', entry('mail', 'unavailable')],
  ['one that was listed before', entry('mail', 'connecting', 'send')],
  [
    'one whose worker never said how it went',
    { ...entry('mail', 'connecting'), updatedAt: Date.now() - 61_000 },
  ],
])('%s does not delay the run', async (_, server) => {
  expect((await named(['mail.*'], [server])).reads).toBe(1);
});

test('no server is waited for without a limit', async () => {
  expect((await named(['*'], [entry('mail', 'connecting')])).names).toEqual([]);
});

// The wait is a turn of the engine: its stop would else last as long.
test('a stop ends the wait for a server, without tools that a run could begin with', async () => {
  const stopping = new AbortController();
  const read = async (): Promise<CatalogEntry[]> => {
    setImmediate(() => stopping.abort());
    return [entry('mail', 'connecting')];
  };
  const patient = agentTools({ read }, { patienceMs: 60_000, pollMs: 60_000 });
  expect(await patient({ tools: ['*'] }, undefined, stopping.signal)).toBeNull();
});

// Issue 38, point 7: an agent that names the server of another tenant gets nothing of it.
test('an agent gets the servers of all and those of its own tenant, whose names a file wins', async () => {
  const ofTenant = (tenant: string, ...given: Parameters<typeof entry>): CatalogEntry => {
    const own = entry(...given);
    return { ...own, server: `${tenant}~${own.server}` };
  };
  const entries = [
    entry('mail', 'ready', 'send'),
    ofTenant('acme', 'crm', 'ready', 'find'),
    ofTenant('acme', 'mail', 'ready', 'steal'),
    ofTenant('default', 'ours', 'ready', 'look'),
  ];
  const names = async (tenant: string, ...tools: string[]): Promise<string[] | undefined> => {
    const listed = await agentTools({ read: async () => entries })({ tools }, tenant);
    return listed?.map(({ name }) => name);
  };
  expect(await names('acme', '*')).toEqual(['crm.find', 'mail.send']);
  expect(await names('globex', 'crm.*', 'acme~crm.*', 'mail.*')).toEqual(['mail.send']);
  expect(await names('default', '*')).toEqual(['mail.send', 'ours.look']);
});
