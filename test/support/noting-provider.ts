/** A model provider that notes the traces that its callers belong to; it refuses the model `busy`, asks the first caller of `limited` to
 *  slow down, lets `planner` call tools, and answers any other.
 *  It must never decide by anything but the model's name and whether tools have answered. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface NotingProvider {
  /** As `base_url` of an OpenAI-compatible provider. */
  readonly url: string;
  /** The `traceparent` headers, in the order of the calls. */
  readonly asked: readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
}

const BUSY = { error: { message: 'not today' } };

const EMBEDDED = {
  object: 'list',
  model: 'small-2026',
  data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
  usage: { prompt_tokens: 5, total_tokens: 5 },
};

const ANSWER = {
  id: 'answer-1',
  object: 'chat.completion',
  model: 'free-2026',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'here' } }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
};

interface Call {
  readonly name: string;
  readonly arguments: object;
}

/** What `planner` calls before a tool has answered, and after it. */
const FIRST_CALLS: readonly Call[] = [
  { name: 'remote', arguments: { label: 'in the crash', holds: 1 } },
  { name: 'traced', arguments: { label: 'at first not', failures: 1 } },
];
const NEXT_CALLS: readonly Call[] = [{ name: 'traced', arguments: { label: 'until the cancel', holds: 1 } }];

interface Question {
  readonly model: string;
  readonly messages?: readonly { role: string }[];
  readonly tools?: readonly { function: { name: string } }[];
}

/** The tool calls of the planner as one streamed piece. */
function plan({ messages = [], tools = [] }: Question): string {
  const calls = messages.some(({ role }) => role === 'tool') ? NEXT_CALLS : FIRST_CALLS;
  const named = calls.map(({ name, arguments: given }, index) => ({
    index,
    id: `call-${name}-${messages.length}`,
    type: 'function',
    function: {
      name: tools.find((tool) => tool.function.name.includes(name))?.function.name,
      arguments: JSON.stringify(given),
    },
  }));
  const { id, usage } = ANSWER;
  const delta = { role: 'assistant', tool_calls: named };
  const piece = {
    id,
    model: 'planner-2026',
    choices: [{ index: 0, delta, finish_reason: 'tool_calls' }],
    usage,
  };
  return `data: ${JSON.stringify(piece)}\n\ndata: [DONE]\n\n`;
}

export async function startNotingProvider(): Promise<NotingProvider> {
  const asked: string[] = [];
  let hasSlowedDown = false;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    asked.push(String(request.headers['traceparent']));
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const question = JSON.parse(body) as Question;
    const { model } = question;
    const refusal = model === 'busy' ? 503 : model === 'limited' && !hasSlowedDown ? 429 : null;
    hasSlowedDown ||= refusal === 429;
    if (model === 'planner') return void response.end(plan(question));
    const given = request.url?.endsWith('/embeddings') ? EMBEDDED : ANSWER;
    response.writeHead(refusal ?? 200, { 'content-type': 'application/json', 'retry-after': '2' });
    response.end(JSON.stringify(refusal === null ? given : BUSY));
  }
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
