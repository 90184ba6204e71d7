/** Tool search over a fixed catalog of 200 tools of public MCP servers: what it finds, and what it saves. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ListedTool } from '../../../../src/contract/tool/tool-listing.ts';
import { type Offer, offeredTools } from '../../../../src/http/mcp/offered-tools.ts';
import { createToolSearch } from '../../../../src/http/mcp/tool-search/search-tools.ts';
import { createToolSource } from '../../../../src/http/mcp/tool-source.ts';

const linesOf = (name: string): string[] =>
  readFileSync(new URL(`../../../support/${name}`, import.meta.url), 'utf8')
    .trim()
    .split('\n');

function toolOf(line: string): ListedTool {
  const [head = '', description = ''] = line.split(' | ');
  const [server = '', tool = '', parameters = ''] = head.split(' ');
  const names = parameters.split(',').filter(Boolean);
  const properties = Object.fromEntries(
    names.map((name) => [
      name,
      { type: 'string', description: `The ${name} of the call, as its service knows it.` },
    ]),
  );
  const input_schema = {
    type: 'object',
    properties,
    required: names.slice(0, 1),
    additionalProperties: false,
  };
  return { name: `${server}.${tool}`, server, tool, description, input_schema, effect: 'once' };
}

const CATALOG = linesOf('tool-catalog.txt').map(toolOf);

function searchOver(tools: readonly ListedTool[], mayCall: (offer: Offer) => boolean = () => true) {
  const listing = {
    tools: async () => ({ tools: [...tools], servers: [] }),
    agents: async () => ({ agents: [] }),
  };
  const source = createToolSource(listing, { kind: 'all' });
  return createToolSearch({ tools: source, mayCall });
}

const textIn = (answer: unknown): string => (answer as { content: [{ text: string }] }).content[0].text;

type Answered = {
  readonly tools: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
  readonly more?: number;
};

async function asked(search: ReturnType<typeof searchOver>, name: string, args: object): Promise<Answered> {
  const answer = await search.answer({ name, arguments: { ...args } });
  return JSON.parse(textIn(answer)) as Answered;
}

describe('a search among 200 tools', () => {
  test('has the right tool among the first five for at least 45 of 50 questions', async () => {
    const search = searchOver(CATALOG);
    const missed: string[] = [];
    for (const line of linesOf('tool-questions.txt')) {
      const [right = '', query = ''] = line.split(' | ');
      const { tools } = await asked(search, 'find_tools', { query });
      if (!tools.some(({ name }) => name === right))
        missed.push(`${query}: ${tools.map((tool) => tool.name).join(' ')}`);
    }
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(5);
  });

  test('lists a twentieth of the bytes that the whole list has', () => {
    const whole = Buffer.byteLength(
      JSON.stringify(offeredTools({ tools: CATALOG, agents: [] }, { kind: 'all' }).descriptors),
    );
    const three = Buffer.byteLength(JSON.stringify(searchOver(CATALOG).descriptors));
    expect(three).toBeLessThan(whole / 20);
  });

  test('has no more results than asked for, and says how many more there are', async () => {
    const { tools, more = 0 } = await asked(searchOver(CATALOG), 'find_tools', { query: 'list', limit: 3 });
    expect(tools).toHaveLength(3);
    expect(more).toBeGreaterThan(10);
  });
});

describe('what a search shows', () => {
  const tool = toolOf('bank pay account,amount | Pays an amount');

  test('names the repeat policy, and whether a call waits for an approval', async () => {
    const { tools } = await asked(searchOver([{ ...tool, approval: true }]), 'find_tools', { query: 'pay' });
    expect(tools).toMatchObject([
      { name: 'bank__pay', effect: 'once', asks_approval: true, input_schema: { type: 'object' } },
    ]);
  });

  // Tools that a restricted key may not call are neither found, nor described, nor suggested.
  test('has nothing that the caller may not call', async () => {
    const search = searchOver(CATALOG, (offer) => offer.server !== 'stripe');
    expect(
      JSON.stringify(await asked(search, 'find_tools', { query: 'refund a payment', limit: 20 })),
    ).not.toContain('stripe__');
    const described = await asked(search, 'describe_tools', { names: ['stripe__create_refund'] });
    expect(described.tools).toMatchObject([{ error: 'unknown tool' }]);
    expect(JSON.stringify(await search.unknown('stripe__create_refunds'))).not.toContain(
      'stripe__create_refund"',
    );
    expect(await search.isHidden('stripe__create_refund')).toBe(true);
  });

  // Descriptions are written by servers: hidden characters and endless texts must not reach a model.
  test('is bounded, and without characters that are not seen', async () => {
    const hostile = { ...tool, description: `Pays\u202E\u200B\u001B[2J ${'x'.repeat(1_000_000)}` };
    const deep = {
      ...hostile,
      tool: 'pay_more',
      name: 'bank.pay_more',
      input_schema: { type: 'object', description: 'y'.repeat(100_000) },
    };
    const search = searchOver([hostile, deep]);
    const text = textIn(await search.answer({ name: 'find_tools', arguments: { query: 'pay' } }));
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]|\\u001b/u);
    expect(text.length).toBeLessThan(12 * 1024);
    const names = ['bank__pay', 'bank__pay_more'];
    const described = textIn(await search.answer({ name: 'describe_tools', arguments: { names } }));
    expect(described.length).toBeLessThan(64 * 1024);
  });

  // Each misspelt word is compared with all of the index: 24 of them held up the process for a second.
  test('has the work of a query bounded: distinct words, of which eight may be misspelt', async () => {
    const search = searchOver([tool]);
    const found = async (query: string) => (await asked(search, 'find_tools', { query })).tools.length;
    const others = Array.from({ length: 8 }, (_, at) => `nothing${at}`).join(' ');
    expect(await found('acount')).toBe(1);
    expect(await found(`${others} acount`)).toBe(0);
    expect(await found(`${others} account`)).toBe(1);
    expect(await found(`${'nothing '.repeat(30)} account`)).toBe(1);
  });

  test('knows the first of very many parameters', async () => {
    const names = ['recipient', ...Array.from({ length: 48 }, (_, at) => `p${at}`), 'iban'];
    const properties = Object.fromEntries(
      names.map((name) => [name, { type: 'string', description: 'x'.repeat(190) }]),
    );
    const search = searchOver([{ ...tool, input_schema: { type: 'object', properties } }]);
    const found = async (query: string) => (await asked(search, 'find_tools', { query })).tools.length;
    expect([await found('recipient'), await found('iban')]).toEqual([1, 0]);
  });

  test.each([
    {},
    { query: '' },
    { query: 'x'.repeat(401) },
    { query: 'pay', limit: 1_000 },
    { query: 'pay', other: 1 },
  ])('is an error that a model can read for the arguments %j', async (args) => {
    const answer = await searchOver([tool]).answer({ name: 'find_tools', arguments: args });
    expect(answer).toMatchObject({ isError: true });
    expect(JSON.stringify(answer)).toContain('validation_error');
  });

  test('suggests the nearest names for an unknown tool', async () => {
    expect(JSON.stringify(await searchOver(CATALOG).unknown('github__create_pullrequest'))).toContain(
      'github__create_pull_request',
    );
    expect(JSON.stringify(await searchOver(CATALOG).unknown('toString'))).toContain('unknown_tool');
  });

  test('keeps a name of Object.prototype apart from a tool', async () => {
    const odd = { ...tool, tool: 'constructor', name: 'bank.constructor' };
    const { tools } = await asked(searchOver([odd]), 'describe_tools', {
      names: ['__proto__', 'bank__constructor'],
    });
    expect(tools).toMatchObject([{ error: 'unknown tool' }, { name: 'bank__constructor' }]);
  });
});

describe('a call through call_tool', () => {
  const search = searchOver(CATALOG);

  test('is the call that it names, also with its arguments as a text', () => {
    const call = { name: 'slack__slack_post_message', arguments: { text: 'hi' } };
    expect(search.inner({ name: 'call_tool', arguments: call })).toEqual(call);
    // The name of the same member in a directive, which models write, too.
    const { name, ...rest } = call;
    expect(search.inner({ name: 'call_tool', arguments: { ...rest, tool_name: name } })).toEqual(call);
    expect(search.inner({ name: 'call_tool', arguments: { ...call, arguments: '{"text":"hi"}' } })).toEqual(
      call,
    );
  });

  test.each([
    {},
    { name: 7 },
    { name: 'x', arguments: [] },
    { name: 'x', arguments: 'no' },
    { name: 'x', more: 1 },
  ])('is refused for %j', (args) => {
    expect(search.inner({ name: 'call_tool', arguments: args })).toMatchObject({ isError: true });
  });
});
