/** /mcp: hands the requests of MCP clients to the MCP server, and its responses back, streams included.
 *  It must never know a method of the protocol. */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../app.ts';

export interface McpHandler {
  handle(request: Request, parsedBody: unknown): Promise<Response>;
  close(): Promise<void>;
}

/** Not in the description of the API: MCP describes itself. */
const schema = { hide: true };

export function mcpRoutes(app: App, mcp: McpHandler): void {
  app.addHook('preClose', async () => mcp.close());
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    schema,
    handler: async (request, reply) => {
      const response = await mcp.handle(webRequest(request, reply), request.body);
      return sendResponse(reply, response);
    },
  });
}

/** Its signal aborts when the client has gone before the answer was sent. */
function webRequest(request: FastifyRequest, reply: FastifyReply): Request {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, [value].flat().join(', '));
  const url = new URL(request.url, 'http://localhost');
  return new Request(url, { method: request.method, headers, signal: gone.signal });
}

async function sendResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply.code(response.status).serializer(String);
  for (const [name, value] of response.headers) reply.header(name, value);
  if (response.body === null) return reply.send();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream) return reply.send(await response.text());
  return reply.send(Readable.fromWeb(response.body as ReadableStream));
}
