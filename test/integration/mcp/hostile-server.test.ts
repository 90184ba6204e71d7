/** Servers that send too much, on every transport: each fails its own calls only, and the process survives.
 *  It must never run them against the process of the tests: a fault here ends the process that has it. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ServerRead } from '../../../src/contract/tool/server-read.ts';
import type { McpServerOptions } from '../../../src/mcp/server-options.ts';
import { failureOf, openPool, TRACEPARENT } from '../../support/mcp-pool.ts';
import { type HttpServer, hostilePeer, startHostilePeer } from '../../support/mcp-servers.ts';
import { type Child, spawnNode } from '../../support/process.ts';
import { programOf } from '../../support/program.ts';

const CALLER = programOf(fileURLToPath(new URL('../../support/servers/caller.ts', import.meta.url)));
/** MiB. Less than any of the answers needs. */
const HEAP = 96;

function startCaller(servers: readonly McpServerOptions[]): Child {
  return spawnNode([`--max-old-space-size=${HEAP}`, CALLER, JSON.stringify(servers)]);
}

interface Ending {
  readonly end: unknown;
}

async function call(caller: Child, server: string, tool: string, timeoutMs = 60_000): Promise<Ending> {
  const told = caller.lines.length;
  caller.write(`${server} ${tool} ${timeoutMs}\n`);
  const wanted = new RegExp(`^\\{"server":"${server}","tool":"${tool}"`);
  for (;;) {
    const line = caller.lines.slice(told).find((each) => wanted.test(each));
    if (line !== undefined) return JSON.parse(line) as Ending;
    await caller.nextLine(60_000);
  }
}

/** An endless answer ends its connection, and calls in flight on it fail. */
async function callAgain(caller: Child, server: string, tool: string): Promise<Ending> {
  const ending = await call(caller, server, tool);
  const isLost = (ending.end as { type?: string }).type === 'network';
  return isLost ? callAgain(caller, server, tool) : ending;
}

const named = (name: string, options: McpServerOptions): McpServerOptions => ({ ...options, name });
const HERE = { end: [{ type: 'text', text: 'here' }] };

describe('a process with little memory', () => {
  let peer: HttpServer;
  let caller: Child;

  beforeAll(async () => {
    peer = await startHostilePeer();
    const sse: McpServerOptions = {
      name: 'sse',
      transport: { kind: 'http', url: `${peer.origin}/sse`, headers: {} },
    };
    caller = startCaller([named('stdio', hostilePeer()), named('http', peer.options), sse]);
  });
  afterAll(async () => void (await Promise.all([caller.kill9(), peer.child.kill9()])));

  test.each([
    ['stdio', 'deep', 'is nested deeper than 512 levels'],
    ['http', 'deep', 'is nested deeper than 512 levels'],
    ['sse', 'deep', 'is nested deeper than 512 levels'],
    ['stdio', 'wide', 'has more than 100000 values'],
    ['http', 'wide', 'has more than 100000 values'],
    ['sse', 'wide', 'has more than 100000 values'],
    ['stdio', 'items', 'has more than 4096 items of content'],
    ['http', 'items', 'has more than 4096 items of content'],
    ['sse', 'items', 'has more than 4096 items of content'],
    ['http', 'endless', 'is larger than 16777216 bytes'],
    ['http', 'gzip', 'is larger than 16777216 bytes'],
    ['http', 'gzip-events', 'is larger than 16777216 bytes'],
    ['http', 'lines', 'has more than 100000 lines'],
    ['sse', 'lines', 'has more than 100000 lines'],
    ['sse', 'endless', 'is larger than 16777216 bytes'],
    ['stdio', 'endless', 'is larger than 16777216 bytes'],
  ])('over %s outlives an answer that is %s: it %s', async (server, tool, reason) => {
    expect(await call(caller, server, tool)).toMatchObject({
      end: {
        type: 'invalid_result',
        retryable: false,
        message: `The answer of the MCP server ${reason}`,
      },
    });
    expect(await callAgain(caller, server, 'echo')).toMatchObject(HERE);
  });

  test('reads only the beginning of a refusal', async () => {
    expect(await call(caller, 'http', 'refusal')).toMatchObject({
      end: { type: 'provider_error', message: 'The MCP server answered HTTP 500' },
    });
  });

  test.each(['stdio', 'http'])('over %s serves others while one server asks without end', async (server) => {
    const flooded = call(caller, server, 'flood', 2_000);
    expect(await call(caller, 'sse', 'echo')).toMatchObject(HERE);
    expect(await flooded).toMatchObject({ end: { type: 'timeout' } });
    expect(await call(caller, 'sse', 'echo')).toMatchObject(HERE);
  });
});

describe('a server whose list', () => {
  test.each([
    ['lists-much', 'lists tools of more than 16777216 bytes'],
    ['lists-many', 'lists more than 10000 tools'],
    ['lists-in-a-circle', 'lists its tools in a circle of pages'],
  ])('%s is unavailable at once, with the reason', async (habit, reason) => {
    const caller = startCaller([named('list', hostilePeer(habit))]);
    onTestFinished(async () => void (await caller.kill9()));
    expect(await call(caller, 'list', 'echo')).toMatchObject({
      end: { type: 'network', message: expect.stringContaining(reason) as string },
    });
    expect(await call(caller, 'list', 'echo')).toMatchObject({
      end: { message: expect.stringContaining(reason) as string },
    });
  });
});

test('a redirect to another origin gets neither the call nor the token', async () => {
  const other = await startHostilePeer();
  onTestFinished(async () => void (await other.child.kill9()));
  const peer = await startHostilePeer('polite', `${other.origin}/mcp`);
  onTestFinished(async () => void (await peer.child.kill9()));
  const { transport } = peer.options;
  if (transport.kind !== 'http') throw new Error('An HTTP server is expected.');
  const { call: callHere } = openPool({
    name: 'hostile',
    transport: { ...transport, headers: { authorization: 'Bearer token' } },
  });
  const failed = failureOf(await callHere('redirect'));
  expect(failed.error).toMatchObject({ type: 'executor', details: { status: 307 } });
  const seen = await fetch(`${other.origin}/seen`).then((response) => response.text());
  expect(seen).toBe('0');
});

test('a list of resources without end is cut, a circle of pages ends, and a resource without end fails its own read', async () => {
  const { pool } = openPool(hostilePeer('lists-resources'));
  const changed = Promise.withResolvers<void>();
  pool.subscribe({
    onTools: (...[, , , , { revision }]) => void (revision !== '' && changed.resolve()),
  });
  const limits = { signal: new AbortController().signal, timeoutMs: 60_000, maxTotalMs: 60_000 };
  const read = async (method: ServerRead, params = {}): Promise<object> =>
    pool.read({ server: 'hostile', method, params, ...limits, traceparent: TRACEPARENT });
  expect(await read('resources/list')).toMatchObject({
    answer: { result: { incomplete: true, resources: { length: 1_000 } } },
  });
  expect(await read('resources/templates/list')).toMatchObject({
    answer: { result: { resourceTemplates: [{ name: 'y' }, { name: 'y' }] } },
  });
  await changed.promise;
  expect(await read('prompts/list')).toMatchObject({ answer: { error: { code: -32_601 } } });
  expect(await read('resources/read', { uri: 'x:1' })).toMatchObject({
    kind: 'failed',
    error: { message: expect.stringContaining('16777216') as string },
  });
});
