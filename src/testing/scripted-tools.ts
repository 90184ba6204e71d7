/** The MCP servers of a test: its own functions as tools, over the official SDK and real HTTP on 127.0.0.1, with faults on demand.
 *  It must never answer for a tool that the test has not written. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { type CallToolResult, createMcpHandler, Server } from '@modelcontextprotocol/server';
import { pause } from '../platform/lifecycle.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** Tool that a test provides. */
export interface ScriptedTool {
  /** Description for the model. Default: none. */
  readonly description?: string;
  /** JSON Schema of its arguments. Default: any object. */
  readonly inputSchema?: { readonly type: 'object'; readonly [key: string]: unknown };
  /** Whether a repeat does harm: `once` is never repeated after an unclear end. Default: `once`. */
  readonly effect?: 'read' | 'idempotent' | 'once';
  /** Executes a call. A returned text is the answer, an object the structured answer; a thrown error is the failure. */
  readonly run: (args: Arguments, call: { readonly signal: AbortSignal }) => unknown;
}

/** Result of an MCP tool as it is sent; `run` of a scripted tool may return it in place of a value. */
export class SentResult {
  readonly result: CallToolResult;

  constructor(result: CallToolResult) {
    this.result = result;
  }
}

/** Server → tool. */
export type ScriptedServers = Readonly<Record<string, Readonly<Record<string, ScriptedTool>>>>;

/** Tool call that a scripted tool received. */
export interface ToolCallSeen {
  /** Name of the tool as in a directive: `weather.forecast`. */
  readonly tool: string;
  /** Arguments of the call. */
  readonly arguments: Arguments;
}

/** MCP servers with the tools of a test. */
export interface ScriptedTools {
  /** All calls that have reached a tool, the oldest first. */
  readonly calls: readonly ToolCallSeen[];
  /** Delays each answer of the tool, in milliseconds. 0: no delay. */
  slow(tool: string, ms: number): void;
  /** Fails the next calls of the tool before it runs. `times`: number of calls. Default: 1. */
  fails(tool: string, message: string, times?: number): void;
  /** Cuts the connections of the next calls after the tool has run, so that its answer is lost. `times`: number of calls. Default: 1. */
  loses(tool: string, times?: number): void;
  /** Addresses by server, as in adjutant.json. */
  readonly mcpServers: Readonly<
    Record<string, { readonly type: 'http'; readonly url: string; readonly effects: object }>
  >;
  /** Stops the servers. */
  close(): Promise<void>;
}

interface Faults {
  readonly slowMs: Map<string, number>;
  readonly failures: Map<string, string[]>;
  readonly losses: Map<string, number>;
}

export async function startScriptedTools(servers: ScriptedServers): Promise<ScriptedTools> {
  const calls: ToolCallSeen[] = [];
  const faults: Faults = { slowMs: new Map(), failures: new Map(), losses: new Map() };
  const handlers = new Map(
    Object.entries(servers).map(([name, tools]) => [
      `/${name}`,
      createMcpHandler(() => mcpServer(name, tools, calls, faults)),
    ]),
  );
  const listener = createServer((incoming, outgoing) => {
    const handler = handlers.get(incoming.url ?? '');
    if (handler === undefined) return void outgoing.writeHead(404).end();
    serve(async (request) => handler.fetch(request), incoming, outgoing).catch(() => outgoing.destroy());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const base = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return {
    calls,
    slow: (tool, ms) => void faults.slowMs.set(known(servers, tool), ms),
    fails: (tool, message, times = 1) =>
      void faults.failures.set(
        known(servers, tool),
        Array.from({ length: times }, () => message),
      ),
    loses: (tool, times = 1) => void faults.losses.set(known(servers, tool), times),
    mcpServers: Object.fromEntries(
      Object.entries(servers).map(([name, tools]) => [
        name,
        { type: 'http', url: `${base}/${name}`, effects: effectsOf(tools) },
      ]),
    ),
    close: async () => {
      await Promise.all([...handlers.values()].map(async (handler) => handler.close()));
      listener.closeAllConnections();
      listener.close();
      await once(listener, 'close');
    },
  };
}

/** A fault of a tool that does not exist would never happen, and the test would pass without it. */
function known(servers: ScriptedServers, tool: string): string {
  const names = Object.entries(servers).flatMap(([server, tools]) =>
    Object.keys(tools).map((name) => `${server}.${name}`),
  );
  if (names.includes(tool)) return tool;
  throw new Error(`The test kit has no tool '${tool}'; it has ${names.join(', ') || 'none'}.`);
}

function effectsOf(tools: Readonly<Record<string, ScriptedTool>>): object {
  return Object.fromEntries(Object.entries(tools).map(([name, { effect = 'once' }]) => [name, effect]));
}

function mcpServer(
  server: string,
  tools: Readonly<Record<string, ScriptedTool>>,
  calls: ToolCallSeen[],
  faults: Faults,
): Server {
  const mcp = new Server({ name: server, version: '1' }, { capabilities: { tools: {} } });
  mcp.setRequestHandler('tools/list', () => ({
    tools: Object.entries(tools).map(
      ([name, { description, inputSchema = { type: 'object' as const } }]) => ({
        name,
        inputSchema,
        ...(description === undefined ? {} : { description }),
      }),
    ),
  }));
  mcp.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, { mcpReq }) => {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (tool === undefined) return failure(`there is no tool ${name}`);
    return call(`${server}.${name}`, tool, { args, signal: mcpReq.signal, calls, faults });
  });
  return mcp;
}

interface Call {
  readonly args: Arguments;
  readonly signal: AbortSignal;
  readonly calls: ToolCallSeen[];
  readonly faults: Faults;
}

async function call(
  name: string,
  tool: ScriptedTool,
  { args, signal, calls, faults }: Call,
): Promise<CallToolResult> {
  calls.push({ tool: name, arguments: args });
  const message = faults.failures.get(name)?.shift();
  if (message !== undefined) return failure(message);
  const result = await Promise.resolve()
    .then(() => tool.run(args, { signal }))
    .then(answerOf, (error: unknown) => failure(error instanceof Error ? error.message : String(error)));
  await pause(faults.slowMs.get(name) ?? 0, signal);
  const losses = faults.losses.get(name) ?? 0;
  if (losses === 0) return result;
  faults.losses.set(name, losses - 1);
  return { ...result, _meta: { [LOST]: true } };
}

/** Marks an answer whose connection is cut in its place. */
const LOST = 'adjutant-testing/lost';

function answerOf(value: unknown): CallToolResult {
  if (value instanceof SentResult) return value.result;
  if (typeof value === 'string') return { content: [{ type: 'text', text: value }] };
  const text = JSON.stringify(value ?? null);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { content: [{ type: 'text', text }] };
  return { content: [{ type: 'text', text }], structuredContent: value as Record<string, unknown> };
}

function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

async function serve(
  answer: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const { method = 'GET', url = '/', headersDistinct } = incoming;
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const body = method === 'POST' ? { body: Readable.toWeb(incoming), duplex: 'half' } : {};
  const request = new Request(new URL(url, 'http://localhost'), {
    method,
    headers,
    signal: gone.signal,
    ...body,
  } as RequestInit);
  const response = await answer(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void outgoing.end();
  for await (const piece of Readable.fromWeb(response.body as ReadableStream)) {
    if (String(piece).includes(LOST)) return void outgoing.destroy();
    outgoing.write(piece);
  }
  outgoing.end();
}
