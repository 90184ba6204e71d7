/** A stdio server that reads lines as `node:readline` cuts them, and repeats its secret wherever it says anything.
 *  It must never know another secret than the variable PEER_TOKEN. */
import { createInterface } from 'node:readline';

const secret = process.env.PEER_TOKEN ?? '';
const base64 = Buffer.from(`peer:${secret}`).toString('base64');
const text = `I use ${secret}, ${base64} and ${encodeURIComponent(secret)}`;
const tool = (name) => ({ name, description: `${name}: ${text}`, inputSchema: { type: 'object' } });
const content = (said, isError = false) => ({ content: [{ type: 'text', text: said }], isError });

const CALLS = {
  echo: ({ said }) => content(said),
  tell: () => content(text),
  refuse: () => content(text, true),
};

const ANSWERS = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: 'leaky', version: '1' },
    instructions: text,
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: Object.keys(CALLS).map(tool) }),
  'tools/call': ({ name, arguments: args }) => CALLS[name](args),
  'resources/list': () => ({ resources: [{ uri: 'a://a', name: 'a', description: text }] }),
  'resources/read': () => ({ contents: [{ uri: 'a://a', text }] }),
};

process.stderr.write(`${text}\n`);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = ANSWERS[method];
  const reply = answer
    ? { result: answer(params) }
    : { error: { code: -32601, message: `no ${method}: ${text}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`);
});
