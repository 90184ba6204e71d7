/** A stdio server that breaks one rule, named by its first argument.
 *  It must never break another one: a test must know what it saw. */
import { spawn } from 'node:child_process';
import { closeSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , habit = 'polite'] = process.argv;
const write = (value) =>
  process.stdout.write(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
const answer = (id, result) => write({ jsonrpc: '2.0', id, result });
const refuse = (id, code, message) => write({ jsonrpc: '2.0', id, error: { code, message } });
const TOOLS = ['echo', 'misbehave'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const SAID = { content: [{ type: 'text', text: 'said' }] };

const misbehaviours = {
  'says-nothing': () => {},
  'talks-nonsense': (id) => {
    for (const line of [
      '{"jsonrpc":',
      'hello',
      '[]',
      'null',
      '{"jsonrpc":"2.0"}',
      '{"jsonrpc":"2.0","id":null}',
    ])
      write(line);
    write({ jsonrpc: '2.0', id: 999_999, result: {} });
    write({ jsonrpc: '2.0', method: 7 });
    write({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'nobody', progress: 1 },
    });
    write({ jsonrpc: '2.0', method: 'notifications/progress' });
    answer(id, SAID);
  },
  exits: () => {
    process.stderr.write('Error: the disk is full\n', () => process.exit(7));
  },
  'is-killed': () => {
    process.stderr.write('Error: the disk is full\n', () => process.kill(process.pid, 'SIGKILL'));
  },
  'answers-rubbish': (id) => answer(id, { content: 'not a list' }),
  'closes-stdout': () => {
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1_000);
    closeSync(1);
  },
  'speaks-in-one-breath': (id, token) => {
    const note = { method: 'notifications/progress', params: { progressToken: token, progress: 1 } };
    write(
      together([
        { jsonrpc: '2.0', ...note },
        { jsonrpc: '2.0', id, result: SAID },
      ]),
    );
  },
  'answers-at-length': (id) =>
    answer(id, { content: [{ type: 'text', text: 'x'.repeat(17 * 1024 * 1024) }] }),
  'answers-deeply': (id) => {
    const deep = `${'{"a":'.repeat(6_000)}1${'}'.repeat(6_000)}`;
    write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":${deep}}}`);
  },
  'asks-back': (id) => {
    write({
      jsonrpc: '2.0',
      id: 'a',
      method: 'sampling/createMessage',
      params: { messages: [], maxTokens: 1 },
    });
    write({ jsonrpc: '2.0', id: 'b', method: 'no/such/method' });
    pending = id;
  },
};
let pending = null;
let isHung = false;
let refusals = 0;

let listings = 0;
const CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

function list(id) {
  listings += 1;
  const more = listings > 1 ? [{ name: `late-${listings}`, inputSchema: { type: 'object' } }] : [];
  const listed = { jsonrpc: '2.0', id, result: { tools: [...TOOLS, ...more] } };
  if (habit === 'never-lists') return;
  if (habit === 'changes-with-its-list' && listings === 1) return write(together([listed, CHANGED]));
  if (habit === 'changes-without-end') return write(together([listed, ...Array(20).fill(CHANGED)]));
  return write(listed);
}

const together = (messages) => messages.map((each) => JSON.stringify(each)).join('\n');

/** As servers on the Java SDK before 0.8 and before 0.18 refuse what they do not know. */
function refusedCapability({ elicitation = {}, ...others }) {
  if (habit === 'knows-no-form') return Object.keys(elicitation)[0];
  if (habit !== 'knows-no-extensions') return undefined;
  return Object.keys(others).find((name) => !['roots', 'sampling', 'experimental'].includes(name));
}

function onRequest(id, method, params) {
  process.stderr.write(`asked for ${method}\n`);
  if (method === 'initialize') {
    const refused = refusedCapability(params.capabilities);
    if (refused !== undefined) return refuse(id, -32603, `Unrecognized field "${refused}"`);
    const capabilities = { tools: {} };
    return answer(id, {
      protocolVersion: '2025-06-18',
      capabilities,
      serverInfo: { name: 'rude', version: '1' },
    });
  }
  if (method === 'tools/list') return list(id);
  if (habit === 'dies-on-probe') return process.exit(1);
  if (habit === 'ignores-the-unknown') return undefined;
  return refuse(id, -32601, 'Method not found');
}

function onMessage({ id, method, params, error }) {
  if (isHung || habit === 'never-starts') return;
  if (method === undefined) {
    refusals += error === undefined ? 0 : 1;
    if (refusals === 2 && pending !== null) answer(pending, SAID);
  } else if (id === undefined) {
    return;
  } else if (method === 'tools/call') {
    if (params.name === 'misbehave' && misbehaviours[habit] !== undefined)
      misbehaviours[habit](id, params._meta?.progressToken);
    else answer(id, SAID);
  } else {
    onRequest(id, method, params);
  }
}

if (habit === 'will-not-leave') {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
  setInterval(() => {}, 1_000);
  const child = spawn(
    process.execPath,
    ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"],
    { stdio: 'inherit' },
  );
  process.stderr.write(`child ${child.pid}\n`);
}
if (habit === 'complains-on-stdout') {
  writeSync(1, 'Starting\nError: API_KEY is not set\n');
  process.exit(1);
}
if (habit === 'refuses-to-start') {
  process.stderr.write('the configuration file is missing\n');
  process.exit(2);
}
const input = createInterface({ input: process.stdin });
misbehaviours['hangs'] = () => {
  isHung = true;
};
misbehaviours['stops-reading'] = () => {
  input.pause();
  setInterval(() => {}, 1_000);
};
input.on('line', (line) => onMessage(JSON.parse(line)));
