/** An MCP server whose answers are malformed, each tool's in its own way: over stdio, Streamable HTTP and legacy SSE.
 *  It must never leave out the id of the request, nor end a stream that it answers on: only the answer counts. */
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const HABIT = process.argv[3];
const SAID = { content: [{ type: 'text', text: 'said' }] };
const PADDING = ' '.repeat(17 * 1024 * 1024);
const text = (id, members) => JSON.stringify({ jsonrpc: '2.0', id, ...members });
const error = (members) => ({ error: { code: -32_000, message: 'no', ...members } });

const LARGE =
  '{"ids":[7,9007199254740993],"text":"9007199254740993","ratio":1.25e3,"top":18446744073709551615}';
const SCHEMAS = {
  'large-integers': {
    type: 'object',
    properties: { ids: { type: 'array', items: { type: 'integer' } }, top: { type: 'integer' } },
    required: ['top'],
  },
};

/** By the name of the tool: what it answers. */
const ANSWERS = {
  'error-null': (id) => text(id, { result: SAID, error: null }),
  'result-null': (id) => text(id, { result: null, ...error() }),
  'code-text': (id) => text(id, error({ code: '-32000' })),
  'code-missing': (id) => text(id, error({ code: undefined })),
  'code-name': (id) => text(id, error({ code: 'E_FAIL' })),
  'code-fraction': (id) => text(id, error({ code: 1.5 })),
  'message-missing': (id) => text(id, error({ message: undefined })),
  'error-text': (id) => text(id, { error: 'no' }),
  'data-null': (id) => text(id, error({ data: null })),
  'meta-null': (id) => text(id, { result: { ...SAID, _meta: null } }),
  'members-null': (id) => text(id, { result: { ...SAID, isError: null, structuredContent: null } }),
  'item-members-null': (id) =>
    text(id, { result: { content: [{ ...SAID.content[0], annotations: null, _meta: null }] } }),
  'meta-list': (id) => text(id, { result: { ...SAID, _meta: [] } }),
  'item-members-list': (id) =>
    text(id, { result: { content: [{ ...SAID.content[0], annotations: [], _meta: [] }] } }),
  'tool-result': (id) => text(id, { result: { toolResult: 'said' } }),
  'data-only': (id) => text(id, { result: { rows: [1, 2], total: 2 } }),
  'structured-list': (id) => text(id, { result: { ...SAID, structuredContent: [] } }),
  'meta-text': (id) => text(id, { result: { ...SAID, _meta: 'x' } }),
  'meta-member': (id) => text(id, { result: { ...SAID, _meta: { progressToken: {} } } }),
  'nothing-at-all': (id) => text(id, { result: {} }),
  'one-wrong-item': (id) => text(id, { result: { content: [...SAID.content, { type: 'image', data: 7 }] } }),
  'unknown-kind': (id) => text(id, { result: { content: [...SAID.content, { type: 'video' }] } }),
  'content-text': (id) => text(id, { result: { content: 'said' } }),
  'logged-first': (id) =>
    [
      JSON.stringify({ id, level: 30, msg: 'called' }),
      JSON.stringify({ id, result: 'ok', time: 7 }),
      JSON.stringify({ id, result: {}, time: 7 }),
      JSON.stringify({ id, error: 'none' }),
      `{"id":${id},"msg":"cut`,
      text(id, { result: SAID }),
    ].join('\n'),
  'no-jsonrpc': (id) => JSON.stringify({ id, result: SAID }),
  'jsonrpc-one': (id) => JSON.stringify({ jsonrpc: '1.0', id, result: SAID }),
  'jsonrpc-number': (id) => JSON.stringify({ jsonrpc: 2, id, result: SAID }),
  'id-text': (id) => text(String(id), { result: SAID }),
  'more-members': (id) => text(id, { result: SAID, time: 7 }),
  'method-null': (id) => text(id, { method: null, params: null, result: SAID }),
  'method-echoed': (id) => text(id, { method: 'tools/call', params: {}, result: SAID }),
  'large-integers': (id) =>
    `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${LARGE}}}`,
  'byte-order-mark': (id) => `\u{feff}${text(id, { result: SAID })}`,
  both: (id) => text(id, { result: SAID, ...error() }),
  neither: (id) => text(id, {}),
  'result-number': (id) => text(id, { result: 7 }),
  'result-text': (id) => text(id, { result: 'said' }),
  'result-list': (id) => text(id, { result: [SAID] }),
  'result-only-null': (id) => text(id, { result: null }),
  'content-null': (id) => text(id, { result: { content: null } }),
  'padded-start': (id) => `{${PADDING}"jsonrpc": "2.0", "id": ${id}, "result": ${JSON.stringify(SAID)}}`,
  'padded-end': (id) =>
    `{"result": ${JSON.stringify(SAID)}, "jsonrpc": "2.0", "id" : ${id}${PADDING}}${' '.repeat(600)}`,
};
const ONLY_HTTP = [
  'accepted',
  'empty',
  'other-id',
  'refused',
  'refused-without-id',
  'returns',
  'lacks-scope',
  'broken-json',
];

/** Of the modern protocol, but without the members that only it has. */
const MODERN = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
  'tools/list': { tools: [{ name: 'plain', inputSchema: { type: 'object' } }] },
  'tools/call': SAID,
};

function handshake({ id, method }) {
  if (method === 'initialize') {
    const serverInfo = { name: 'malformed', version: '1' };
    return text(id, {
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: [], experimental: [] },
        serverInfo,
        _meta: [],
      },
    });
  }
  if (method !== 'tools/list') return text(id, { error: { code: -32_601, message: 'Method not found' } });
  const names = ['plain', 'last-words', ...Object.keys(ANSWERS), ...ONLY_HTTP];
  const listed = (name) => {
    const outputSchema = SCHEMAS[name];
    return { name, inputSchema: { type: 'object' }, ...(outputSchema && { outputSchema }) };
  };
  return text(id, { result: { tools: names.map(listed), _meta: [] } });
}

/** All that is sent at once. */
function answersTo({ id, method, params }) {
  if (HABIT === 'modern') return [text(id, { result: MODERN[method] })];
  if (method !== 'tools/call') return [handshake({ id, method })];
  const said = text(id, { result: SAID });
  if (params.name !== 'last-words') return [ANSWERS[params.name]?.(id) ?? said];
  const { progressToken } = params._meta;
  const note = { method: 'notifications/progress', params: { progressToken, progress: 1 } };
  return [JSON.stringify({ jsonrpc: '2.0', ...note }), said];
}

function startStdio() {
  if (HABIT === 'begins-with-a-mark') process.stdout.write('\u{feff}');
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.id !== undefined && message.method !== undefined)
      process.stdout.write(`${answersTo(message).join('\n')}\n`);
  });
}

const JSON_HEAD = { 'content-type': 'application/json' };
const EVENTS_HEAD = { 'content-type': 'text/event-stream' };

/** How the tools that only HTTP can offer answer; undefined: another tool. */
const PLAIN_ANSWERS = {
  accepted: (_id, response) => response.writeHead(202).end(),
  empty: (_id, response) => response.writeHead(200, JSON_HEAD).end(),
  'other-id': (_id, response) => response.writeHead(200, JSON_HEAD).end(text(999_999, { result: SAID })),
  refused: (id, response) =>
    response.writeHead(400, JSON_HEAD).end(text(id, error({ code: 7, message: 'not on Sundays' }))),
  'refused-without-id': (_id, response) =>
    response.writeHead(400, JSON_HEAD).end(text(null, error({ message: 'the header is missing' }))),
  'lacks-scope': (_id, response) =>
    response
      .writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="files:write"' })
      .end(),
  'broken-json': (_id, response) => response.writeHead(200, EVENTS_HEAD).write('data: {"jsonrpc":\n\n'),
  returns: (id, response) =>
    response.writeHead(200, EVENTS_HEAD).write(`data: ${text(id, { result: SAID })}\r\r`),
};

function startHttp() {
  let stream = null;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.method === 'GET' && request.url === '/sse') {
      stream = response.writeHead(200, EVENTS_HEAD);
      return void stream.write('event: endpoint\ndata: /message\n\n');
    }
    if (request.method !== 'POST' || request.url === '/sse') return void response.writeHead(405).end();
    const message = JSON.parse(body);
    if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end();
    const special = PLAIN_ANSWERS[message.params?.name];
    if (special !== undefined) return special(message.id, response);
    const answers = answersTo(message);
    if (request.url === '/json') return void response.writeHead(200, JSON_HEAD).end(answers.at(-1));
    if (request.url === '/message') response.writeHead(202).end();
    // Left open: a client must not wait for the end of the stream.
    const out = request.url === '/message' ? stream : response.writeHead(200, EVENTS_HEAD);
    out.write(answers.map((answer) => `data: ${answer}\n\n`).join(''));
  });
  server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
}

if (process.argv[2] === 'stdio') startStdio();
else startHttp();
