/** A model provider that notes the traces that its callers belong to; it refuses the model `busy`, asks the first caller of `limited` to
 *  slow down, and answers any other.
 *  It must never decide by anything but the model's name. */
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

export async function startNotingProvider(): Promise<NotingProvider> {
  const asked: string[] = [];
  let hasSlowedDown = false;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    asked.push(String(request.headers['traceparent']));
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { model } = JSON.parse(body) as { model: string };
    const refusal = model === 'busy' ? 503 : model === 'limited' && !hasSlowedDown ? 429 : null;
    hasSlowedDown ||= refusal === 429;
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
