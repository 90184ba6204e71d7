/** A stdio server whose tools its first argument lists, as JSON: each a name, or a definition with a `result`.
 *  It must never refuse a call: the client handles names and schemas. */
import { createInterface } from 'node:readline';

const listed = JSON.parse(process.argv[2] ?? '[]').map((tool) =>
  typeof tool === 'string' ? { name: tool } : tool,
);
const definitions = listed.map(({ result: _result, ...tool }) => ({
  inputSchema: { type: 'object' },
  ...tool,
}));
const results = new Map(listed.map(({ name, result }) => [name, result]));
const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'named', version: '1' },
};
const ANSWERS = {
  initialize: () => INITIALIZED,
  'tools/list': () => ({ tools: definitions }),
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
