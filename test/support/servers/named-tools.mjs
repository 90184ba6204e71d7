/** A stdio server written by hand whose tools have the names that its first argument lists, as JSON.
 *  It must never refuse a call: what is done with the names is the client's affair. */
import { createInterface } from 'node:readline';

const names = JSON.parse(process.argv[2] ?? '[]');
const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'named', version: '1' },
};
const ANSWERS = {
  initialize: () => INITIALIZED,
  'tools/list': () => ({ tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ name }) => ({ content: [{ type: 'text', text: name }] }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = Object.hasOwn(ANSWERS, method)
    ? { result: ANSWERS[method](params) }
    : { error: { code: -32601, message: 'Method not found' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});
