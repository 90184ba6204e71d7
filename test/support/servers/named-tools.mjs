/** A stdio server whose tools its first argument lists, as JSON: each a name, a definition with a `result`, or
 *  `{"raw": …}`, which is listed as it stands. A second argument is the `nextCursor` of the list, as JSON.
 *  It must never refuse a call: the client handles names and schemas. */
import { createInterface } from 'node:readline';

const listed = JSON.parse(process.argv[2] ?? '[]').map((tool) =>
  typeof tool === 'string' ? { name: tool } : tool,
);
const definitions = listed.map(({ result: _result, ...tool }) =>
  'raw' in tool ? tool.raw : { inputSchema: { type: 'object' }, ...tool },
);
const [, , , cursor] = process.argv;
const more = cursor === undefined ? {} : { nextCursor: JSON.parse(cursor) };
const results = new Map(listed.map(({ name, result }) => [name, result]));
const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'named', version: '1' },
};
const ANSWERS = {
  initialize: () => INITIALIZED,
  'tools/list': () => ({ tools: definitions, ...more }),
  'tools/call': ({ name }) => ({ content: [{ type: 'text', text: name }], ...results.get(name) }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = Object.hasOwn(ANSWERS, method)
    ? { result: ANSWERS[method](params) }
    : { error: { code: -32601, message: 'Method not found' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});
