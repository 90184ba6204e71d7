/** An HTTP server that answers like a provider, byte for byte as the test says, and sees what its callers do.
 *  It must never answer anything else. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: unknown;
  /** The body as it came. */
  text: string;
  /** Resolves when the caller's connection of this request is closed. */
  closed: Promise<void>;
}

export type Answer = (response: ServerResponse, request: SeenRequest, index: number) => void | Promise<void>;

export type ProviderServer = Awaited<ReturnType<typeof startProvider>>;

export async function startProvider(answer: Answer) {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void handle(request, response);
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const closed = once(response, 'close').then(() => {});
    const text = Buffer.concat(chunks).toString();
    const body: unknown = JSON.parse(text || 'null');
    const entry = { path: request.url ?? '', headers: request.headers, body, text, closed };
    seen.push(entry);
    await answer(response, entry, seen.length - 1);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Events of a stream, as a provider writes them; objects with a `type` are named events, like Anthropic's. */
export function sse(events: readonly unknown[], { named = false } = {}): string {
  return events
    .map((event) => {
      const data = typeof event === 'string' ? event : JSON.stringify(event);
      const name = named ? `event: ${(event as { type: string }).type}\n` : '';
      return `${name}data: ${data}\n\n`;
    })
    .join('');
}

export const STREAM_HEAD = { 'content-type': 'text/event-stream' };

/** Writes the text and ends the response. */
export function streamed(text: string, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(200, { ...STREAM_HEAD, ...headers });
    response.end(text);
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** The body of a request that the server has seen. */
export function bodyOf(server: ProviderServer, index = 0): Record<string, unknown> {
  const request = server.seen[index];
  if (!request) throw new Error(`no request ${index}`);
  return request.body as Record<string, unknown>;
}
