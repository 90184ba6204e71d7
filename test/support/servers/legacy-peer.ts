/** A server on the predecessor SDK, with a tool for each thing that a server can do to its client.
 *  It must never need more than its arguments and environment: `stdio`, or `http` with sessions.
 *  PEER_LOG names a file for its events; PEER_UNKNOWN_SESSION is the status for a session it does not know. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  ElicitResultSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

interface Result {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
}
interface Extra {
  readonly signal: AbortSignal;
  readonly requestId: string | number;
  sendNotification(notification: { method: string; params: Record<string, unknown> }): Promise<void>;
  /** On the stream of the call, where there is one. */
  sendRequest(
    request: { method: string; params: Record<string, unknown> },
    result: unknown,
  ): Promise<unknown>;
}
interface Asked {
  readonly args: Record<string, unknown>;
  readonly meta: Record<string, unknown>;
  readonly extra: Extra;
  readonly server: Server;
}
interface PeerTool {
  readonly input?: Record<string, unknown>;
  readonly output?: Record<string, unknown>;
  readonly annotations?: Record<string, unknown>;
  readonly run: (asked: Asked) => unknown;
}

const events: string[] = [];
const released = Promise.withResolvers<void>();
const state = { inFlight: 0, mostInFlight: 0, extraTools: 0, listings: 0 };
const NUMBERS = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
};
const SUM = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };

const EXTRA: PeerTool = { run: () => text('extra') };

const tools: Record<string, PeerTool> = {
  echo: { annotations: { readOnlyHint: true }, run: ({ args }) => text(JSON.stringify(args)) },
  say: { run: ({ args }) => said(args) },
  meta: { run: ({ meta }) => text(JSON.stringify(meta)) },
  events: { run: () => text(JSON.stringify(events)) },
  pid: { run: () => text(String(process.pid)) },
  listings: { run: () => text(String(state.listings)) },
  add: {
    input: { ...NUMBERS, additionalProperties: false },
    output: SUM,
    run: ({ args }) => structured({ sum: Number(args['a']) + Number(args['b']) }),
  },
  'draft-07': {
    input: { ...NUMBERS, $schema: 'http://json-schema.org/draft-07/schema#' },
    run: () => text('ok'),
  },
  'wrong-structured': { output: SUM, run: () => structured({ sum: 'many' }) },
  'no-structured': { output: SUM, run: () => text('no sum') },
  wait: { run: waitForCancel },
  hold: { run: hold },
  ask: { run: ask },
  release: { run: () => (released.resolve(), text(String(state.mostInFlight))) },
  beat: { run: beat },
  flood: { run: flood },
  late: { run: late },
  media: { run: () => ({ content: media() }) },
  fail: {
    run: ({ args }) => ({
      isError: true,
      content: [{ type: 'text', text: typeof args['text'] === 'string' ? args['text'] : 'it failed' }],
    }),
  },
  refuse: {
    run: () => {
      throw Object.assign(new Error('no more today'), { code: 1001, data: { quota: 0 } });
    },
  },
  crash: { run: () => process.exit(3) },
  grow: { run: grow },
  shout: { run: () => (process.stderr.write(`${'x'.repeat(1000)}\n`.repeat(5_000)), text('shouted')) },
  descend: { run: descend },
  large: { run: ({ args }) => text('x'.repeat(Number(args['bytes']))) },
};

function text(value: string): Result {
  return { content: [{ type: 'text', text: value }] };
}

/** Texts as they stand, and the error mark, as the caller wants them. */
function said({ texts, isError }: Record<string, unknown>): Result {
  const content = (texts as string[]).map((value) => ({ type: 'text' as const, text: value }));
  return { content, isError: isError === true };
}

function structured(value: Record<string, unknown>): Result {
  return { ...text(JSON.stringify(value)), structuredContent: value };
}

function record(event: string): void {
  events.push(event);
  const file = process.env['PEER_LOG'];
  if (file !== undefined) appendFileSync(file, `${event}\n`);
}

async function waitForCancel({ extra }: Asked): Promise<Result> {
  record('waiting');
  return new Promise((_, reject) => {
    const cancelled = (): void => {
      record(`cancelled: ${String(extra.signal.reason)}`);
      reject(new Error('cancelled'));
    };
    if (extra.signal.aborted) cancelled();
    else extra.signal.addEventListener('abort', cancelled);
  });
}

async function hold(): Promise<Result> {
  state.inFlight += 1;
  state.mostInFlight = Math.max(state.mostInFlight, state.inFlight);
  await Promise.race([released.promise, delay(50)]);
  state.inFlight -= 1;
  return text('held');
}

/** Progress every `everyMs`, `beats` times, then the answer. */
async function beat(asked: Asked): Promise<Result> {
  const beats = Number(asked.args['beats']);
  for (let progress = 1; progress <= beats && !asked.extra.signal.aborted; progress += 1) {
    await delay(Number(asked.args['everyMs']));
    await note(asked, progress, beats);
  }
  if (asked.extra.signal.aborted) record('beat cancelled');
  return text('done');
}

async function flood(asked: Asked): Promise<Result> {
  const notes = Number(asked.args['notes']);
  for (let progress = 1; progress <= notes; progress += 1) await note(asked, progress, notes);
  return text('flooded');
}

/** Progress after the answer. */
function late(asked: Asked): Result {
  setTimeout(() => void note(asked, 1, 1), 5);
  return text('answered');
}

async function note({ extra, meta }: Asked, progress: number, total: number): Promise<void> {
  const params = { progressToken: meta['progressToken'], progress, total, message: `step ${progress}` };
  await extra.sendNotification({ method: 'notifications/progress', params });
}

function media(): unknown[] {
  const base64 = Buffer.from('not really a picture').toString('base64');
  return [
    { type: 'text', text: 'see' },
    { type: 'image', data: base64, mimeType: 'image/png' },
    { type: 'audio', data: base64, mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'inside' } },
    { type: 'resource', resource: { uri: 'file:///a.bin', blob: base64 } },
    { type: 'resource_link', uri: 'file:///b.txt', name: 'b.txt' },
  ];
}

async function grow({ server }: Asked): Promise<Result> {
  state.extraTools += 1;
  for (let times = 0; times < 5; times += 1) await server.sendToolListChanged();
  return text(`extra-${state.extraTools}`);
}

/** A grandchild that outlives a parent that is only killed. */
function descend(): Result {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  return text(String(child.pid));
}

function listed(): { name: string; inputSchema: { type: 'object' } }[] {
  const extra = Array.from({ length: state.extraTools }, (_, index): [string, PeerTool] => [
    `extra-${index + 1}`,
    EXTRA,
  ]);
  return [...Object.entries<PeerTool>(tools), ...extra].map(([name, tool]) => ({
    name,
    description: `does ${name}`,
    inputSchema: { type: 'object', ...tool.input },
    ...(tool.output === undefined ? {} : { outputSchema: tool.output }),
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
  }));
}

/** Three pages, the last one shorter. */
function page(cursor: string | undefined): Record<string, unknown> {
  const all = listed();
  const size = Math.ceil(all.length / 3);
  const start = Number(cursor ?? 0);
  state.listings += start === 0 ? 1 : 0;
  const next = start + size;
  return { tools: all.slice(start, next), ...(next < all.length ? { nextCursor: String(next) } : {}) };
}

async function connect(transport: Transport): Promise<void> {
  const server = new Server(
    { name: 'legacy-peer', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler(ListToolsRequestSchema, (request) => page(request.params?.cursor));
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const { name, arguments: args = {}, _meta: meta = {} } = request.params;
    const tool = tools[name] ?? (name.startsWith('extra-') ? EXTRA : undefined);
    if (tool === undefined) throw Object.assign(new Error(`Unknown tool: ${name}`), { code: -32602 });
    return (await tool.run({ args, meta, extra: extra as unknown as Extra, server })) as Result;
  });
  await server.connect(transport);
}

async function ask({ args, extra }: Asked): Promise<Result> {
  const params = { message: String(args['label']), requestedSchema: { type: 'object', properties: {} } };
  const answer = await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
  return text(`${String(args['label'])} ${JSON.stringify(answer)}`);
}

function serveHttp(): void {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const unknown = Number(process.env['PEER_UNKNOWN_SESSION'] ?? 404);
  const server = createServer((request, response) => {
    const id = request.headers['mcp-session-id'];
    if (request.url === '/forget') {
      sessions.clear();
      return void response.end();
    }
    if (
      process.env['PEER_TOKEN'] !== undefined &&
      request.headers.authorization !== `Bearer ${process.env['PEER_TOKEN']}`
    ) {
      return void response.writeHead(401).end();
    }
    if (typeof id === 'string' && !sessions.has(id)) {
      const error = { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'No valid session ID' } };
      return void response
        .writeHead(unknown, { 'content-type': 'application/json' })
        .end(JSON.stringify(error));
    }
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (request.method === 'DELETE') record('session ended by the client');
    void Promise.resolve(known ?? open(sessions)).then((transport) =>
      transport.handleRequest(request, response),
    );
  });
  server.listen(Number(process.env['PEER_PORT'] ?? 0), '127.0.0.1', () => {
    const address = server.address();
    process.stderr.write(`loopback port ${typeof address === 'object' ? address?.port : ''}\n`);
  });
}

async function open(
  sessions: Map<string, StreamableHTTPServerTransport>,
): Promise<StreamableHTTPServerTransport> {
  const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await connect(transport as Transport);
  return transport;
}

if (process.argv[2] === 'http') serveHttp();
else await connect(new StdioServerTransport());
