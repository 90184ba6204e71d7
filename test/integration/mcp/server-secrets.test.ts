/** A server that repeats its own secret (docs/mcp-servers.md, "Secrets that a server repeats"): who gets to read it.
 *  It must never look for the redaction, but for the secret. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { ServerRead } from '../../../src/contract/tool/server-read.ts';
import type { McpServerOptions } from '../../../src/mcp/server-options.ts';
import { openPool, textOf, TRACEPARENT } from '../../support/mcp-pool.ts';

const SECRET = 'hunter2/+secret?value';
const PEER = fileURLToPath(new URL('../../support/servers/leaky-peer.mjs', import.meta.url));

function leaky(more: Partial<McpServerOptions> = {}): McpServerOptions {
  const env = { PEER_TOKEN: SECRET };
  return {
    name: 'leaky',
    transport: { kind: 'stdio', command: process.execPath, args: [PEER], env },
    ...more,
  };
}

/** The secret as it is, in base64 behind a user, or in a URL. */
function leaksIn(value: unknown): string[] {
  const text = JSON.stringify(value);
  const spellings = [SECRET, Buffer.from(`peer:${SECRET}`).toString('base64'), encodeURIComponent(SECRET)];
  return spellings.filter((spelling) => text.includes(spelling));
}

const readOf = (method: ServerRead, params = {}) => ({
  server: 'leaky',
  method,
  params,
  signal: new AbortController().signal,
  timeoutMs: 20_000,
  maxTotalMs: 20_000,
  traceparent: TRACEPARENT,
});

test('listings, instructions, errors and log lines show no secret', async () => {
  const { pool, call, logs, listings, until } = openPool(leaky());
  const instructions: string[] = [];
  pool.subscribe({ onTools: (_server, _tools, _faults, said) => instructions.push(said) });
  const refused = await call('refuse');
  const listed = await pool.read(readOf('resources/list'));
  const unknown = await pool.read(readOf('prompts/list'));
  await until(() => logs.some(({ message }) => message === 'MCP server output'));
  const seen = { refused, listed, unknown, logs, listings, instructions, tools: pool.tools('leaky') };
  expect(leaksIn(seen)).toEqual([]);
  expect(instructions.join('')).toContain('I use [REDACTED]');
  expect(pool.describe('leaky', 'echo')?.description).toContain('echo: I use [REDACTED]');
});

describe('a successful result', () => {
  test('passes as the tool wrote it', async () => {
    const { pool, call } = openPool(leaky());
    expect(textOf(await call('tell'))).toContain(SECRET);
    expect(leaksIn(await pool.read(readOf('resources/read', { uri: 'a://a' })))).toHaveLength(3);
  });

  test('shows no secret where the server has `redact_results`', async () => {
    const { pool, call } = openPool(leaky({ redactResults: true }));
    const told = await call('tell');
    expect(textOf(told)).toContain('I use [REDACTED]');
    expect(leaksIn([told, await pool.read(readOf('resources/read', { uri: 'a://a' }))])).toEqual([]);
  });
});

test('a server that ends lines at U+2028 and U+2029 gets its calls whole', async () => {
  const { call } = openPool(leaky());
  const said = 'one\u2028two\u2029three';
  expect(textOf(await call('echo', { said }))).toBe(said);
});
