/** An MCP server that sends too much, each tool in its own way: over stdio, Streamable HTTP and legacy SSE.
 *  It must never stop by itself: the reader must. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { createGzip } from 'node:zlib';

const MANY_BYTES = 200 * 1024 * 1024;
const PIECE = 'x'.repeat(1024 * 1024);
const TEXT_HEAD = (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`;
const TEXT_TAIL = '"}]}}';
const said = (text) => ({ content: [{ type: 'text', text }] });
const answer = (id, result) => JSON.stringify({ jsonrpc: '2.0', id, result });
const deepResult = (id, levels) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}}`;
const wideResult = (id, items) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"content":[${Array.from({ length: items }, () => '{}').join()}]}}`;

/** Answers that fit into one text. */
const TEXTS = {
  deep: (id) => deepResult(id, 100_000),
  wide: (id) => wideResult(id, 1_000_000),
  items: (id) => wideResult(id, 10_000),
  garbage: (id) => answer(id, { content: 'no list' }),
  echo: (id) => answer(id, said('here')),
};
const TOOLS = [
  ...Object.keys(TEXTS),
  'endless',
  'gzip',
  'gzip-events',
  'lines',
  'drip',
  'refusal',
  'redirect',
  'flood',
];

async function* endless(id) {
  yield TEXT_HEAD(id);
  for (let sent = 0; sent < MANY_BYTES; sent += PIECE.length) yield PIECE;
  yield TEXT_TAIL;
}

/** Endless listings, by the mode of the server. */
function listing(habit, { cursor }) {
  const page = Number(cursor ?? 0);
  const tool = (name, description = '') => ({ name, description, inputSchema: { type: 'object' } });
  if (habit === 'lists-much')
    return { tools: [tool(`t${page}`, PIECE.repeat(8))], nextCursor: `${page + 1}` };
  if (habit === 'lists-many')
    return {
      tools: Array.from({ length: 2_000 }, (_, i) => tool(`t${page}.${i}`)),
      nextCursor: `${page + 1}`,
    };
  if (habit === 'lists-in-a-circle') return { tools: [tool(`t${page}`)], nextCursor: `${(page + 1) % 3}` };
  return { tools: TOOLS.map((name) => tool(name)) };
}

const RESOURCEFUL = 'lists-resources';

/** A list without end, one that repeats its page and announces a change, and a resource without end. */
function resources(id, method, { cursor }) {
  const page = Number(cursor ?? 0);
  const list = Array.from({ length: 300 }, (_, i) => ({ uri: `x:${page}.${i}`, name: 'x' }));
  if (method === 'resources/list') return answer(id, { resources: list, nextCursor: `${page + 1}` });
  if (method === 'resources/read') return null;
  const template = { uriTemplate: 'y:{n}', name: 'y' };
  const changed = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/list_changed' });
  return `${answer(id, { resourceTemplates: [template], nextCursor: 'again' })}\n${changed}`;
}

/** null: not a request of the handshake. */
function handshake(habit, { id, method, params }) {
  if (method === 'initialize') {
    const serverInfo = { name: 'hostile', version: '1' };
    const capabilities =
      habit === RESOURCEFUL ? { tools: {}, resources: { listChanged: true } } : { tools: {} };
    return answer(id, { protocolVersion: '2025-06-18', capabilities, serverInfo });
  }
  if (habit === RESOURCEFUL && method.startsWith('resources/')) return resources(id, method, params ?? {});
  if (method === 'tools/list') return answer(id, listing(habit, params ?? {}));
  if (method === 'tools/call') return null;
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
}

/** Writes no faster than the other side reads; ends when it leaves. */
async function pour(out, pieces) {
  const closed = once(out, 'close').then(
    () => 'closed',
    () => 'closed',
  );
  out.on('error', () => {});
  for await (const piece of pieces) {
    if (out.destroyed) return;
    if (!out.write(piece) && (await Promise.race([once(out, 'drain').catch(() => {}), closed])) === 'closed')
      return;
  }
}

async function* forEver(text) {
  for (;;) yield text;
}

function startStdio(habit) {
  const out = process.stdout;
  const ping = `${JSON.stringify({ jsonrpc: '2.0', id: 'p', method: 'ping' })}\n`.repeat(1_000);
  createInterface({ input: process.stdin }).on('line', async (line) => {
    const message = JSON.parse(line);
    const { id, method, params } = message;
    if (id === undefined || method === undefined) return;
    const reply = handshake(habit, message) ?? TEXTS[params.name]?.(id);
    if (reply !== undefined) out.write(`${reply}\n`);
    else if (params.name === 'flood') await pour(out, forEver(ping));
    else await pour(out, endless(id));
    if (reply === undefined) out.write('\n');
  });
}

function startHttp(habit) {
  const streams = new Set();
  let seen = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    if (request.url === '/seen') return void response.end(String(seen));
    seen += 1;
    if (request.method === 'GET') return openStream(request, response, streams);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(text);
    if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end();
    const legacy = request.url === '/message';
    if (!legacy && request.url !== '/mcp') return void response.writeHead(404).end();
    if (legacy) response.writeHead(202).end();
    const [stream] = streams;
    await reply(legacy ? eventWriter(stream) : response, habit, message, legacy);
  });
  server.listen(Number(PORT), '127.0.0.1', () => console.log(`port ${server.address().port}`));
}

function openStream(request, response, streams) {
  if (request.url !== '/sse') return void response.writeHead(405).end();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('event: endpoint\ndata: /message\n\n');
  streams.add(response);
  response.on('close', () => streams.delete(response));
}

const eventWriter = (stream) => ({
  one: (text) => stream.write(`data: ${text}\n\n`),
  many: async (pieces, before, after) => {
    stream.write(before);
    await pour(stream, pieces);
    stream.write(after);
  },
});

async function reply(to, habit, message, legacy) {
  const { id, params } = message;
  const text = handshake(habit, message) ?? TEXTS[params.name]?.(id);
  if (legacy) {
    if (text !== undefined) return to.one(text);
    if (params.name === 'lines') return to.many(linesOf(id), '', '\n');
    return to.many(endless(id), 'data: ', '\n\n');
  }
  if (text !== undefined) return void to.writeHead(200, { 'content-type': 'application/json' }).end(text);
  const { name } = params;
  if (name === 'redirect') return void to.writeHead(307, { location: ELSEWHERE }).end(PIECE);
  if (name === 'refusal') to.writeHead(500, { 'content-type': 'text/plain' });
  else if (name === 'lines' || name === 'drip' || name === 'flood')
    to.writeHead(200, { 'content-type': 'text/event-stream' });
  else if (!name.startsWith('gzip')) to.writeHead(200, { 'content-type': 'application/json' });
  if (name === 'lines') return pour(to, linesOf(id));
  if (name === 'drip') return pour(to, dripOf(id));
  if (name === 'flood')
    return pour(to, forEver('data: {"jsonrpc":"2.0","id":"p","method":"ping"}\n\n'.repeat(1_000)));
  if (name === 'gzip') return gzipped(to, 'application/json', endless(id));
  if (name === 'gzip-events') return gzipped(to, 'text/event-stream', eventOf(endless(id)));
  return pour(to, endless(id));
}

/** One event of many lines of data. */
async function* linesOf(id) {
  yield `data: {"jsonrpc":"2.0","id":${id},\n`;
  for (let lines = 0; lines < 400; lines += 1) yield 'data:\n'.repeat(100_000);
}

async function* eventOf(pieces) {
  yield 'data: ';
  yield* pieces;
  yield '\n\n';
}

/** A line of data in pieces of one byte. */
async function* dripOf(id) {
  yield `data: ${TEXT_HEAD(id)}`;
  for (let bytes = 0; bytes < 20_000_000; bytes += 1) yield 'x';
}

/** As small as declared, until it is unpacked. */
async function gzipped(to, type, pieces) {
  const packed = [];
  const zip = createGzip({ level: 1 }).on('data', (chunk) => packed.push(chunk));
  await pour(zip, pieces);
  zip.end();
  await once(zip, 'end');
  const body = Buffer.concat(packed);
  to.writeHead(200, {
    'content-type': type,
    'content-encoding': 'gzip',
    'content-length': body.length,
  });
  to.end(body);
}

const [, , transport, habit = 'polite', ELSEWHERE = '', PORT = '0'] = process.argv;
if (transport === 'stdio') startStdio(habit);
else startHttp(habit);
