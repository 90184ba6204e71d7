/** A host on the MCP client of the AI SDK: takes orders as lines of JSON, and answers each with a line.
 *  It must never import anything of the project: the first argument is where the SDK is. */
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const { createMCPClient } = await import(pathToFileURL(process.argv[2]).href);
const calls = new Map();
let client = null;

const KEY = 'adjutant/idempotencyKey';
/** The client cannot set `_meta` of a call; what it sends goes through a fetch of the host. The key travels as an argument. */
const withKey = async (url, init = {}) => {
  if (typeof init.body !== 'string' || !init.body.includes(KEY)) return fetch(url, init);
  const message = JSON.parse(init.body);
  const { [KEY]: key, ...args } = message.params.arguments;
  const params = { ...message.params, arguments: args, _meta: { ...message.params._meta, [KEY]: key } };
  return fetch(url, { ...init, body: JSON.stringify({ ...message, params }) });
};

const ORDERS = {
  async connect({ url }) {
    client = await createMCPClient({ transport: { type: 'http', url, fetch: withKey } });
  },
  async list() {
    return (await client.listTools()).tools.map(({ name }) => name);
  },
  async call({ id, name, arguments: args, key }) {
    const abort = new AbortController();
    calls.set(id, abort);
    const given = key === undefined ? args : { ...args, [KEY]: key };
    const { content, isError = false } = await client.callTool({
      name,
      arguments: given,
      options: { signal: abort.signal },
    });
    return { isError, text: content.map(({ text = '' }) => text).join('\n') };
  },
  async cancel({ call }) {
    calls.get(call).abort();
  },
};

async function obey({ order, ...params }) {
  const answer = await ORDERS[order](params).then(
    (result = null) => ({ result }),
    (error) => ({ error: String(error?.message ?? error) }),
  );
  process.stdout.write(`${JSON.stringify({ id: params.id, ...answer })}\n`);
}

createInterface({ input: process.stdin }).on('line', (line) => void obey(JSON.parse(line)));
