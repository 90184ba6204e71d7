/** /mcp: hands the requests of MCP clients to the MCP server, and its responses back, streams included.
 *  It must never know a method of the protocol. */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { readInput } from '../../contract/json/read-input.ts';
import { RUN_HEADER, runNameSchema } from '../../contract/run/foreign-run.ts';
import type { App } from '../app.ts';
import { MCP_PATHS } from '../route-rules.ts';

export interface McpHandler {
  /** `server` null: the tools of all servers. The answer is a sentence when there is no such server now. */
  handle(server: string | null, request: Request, parsedBody: unknown): Promise<Response | string>;
  /** The response to this request was written whole to its connection. */
  written(request: Request): void;
  close(): Promise<void>;
}

/** Not in the description of the API: MCP describes itself. */
const schema = { hide: true };

export function mcpRoutes(app: App, mcp: McpHandler): void {
  app.addHook('preClose', async () => mcp.close());
  const method = ['GET', 'POST', 'DELETE'];
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { server = null, run } = request.params as { server?: string; run?: string };
    const asked = webRequest(request, reply, run);
    reply.raw.once('finish', () => mcp.written(asked));
    const response = await mcp.handle(server, asked, request.body);
    if (typeof response !== 'string') return sendResponse(reply, response);
    throw new DirectiveRefused(problem('not_found', { detail: response }));
  };
  for (const url of MCP_PATHS.flatMap((path) => [path, `${path}/`]))
    app.route({ method, url, schema, handler });
}

/** Its signal aborts when the client has gone before the answer was sent. `run`: named by the path. */
function webRequest(request: FastifyRequest, reply: FastifyReply, run: string | undefined): Request {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, [value].flat().join(', '));
  if (run !== undefined) headers.set(RUN_HEADER, readInput(runNameSchema, run, 'invalid_query'));
  const url = new URL(request.url, 'http://localhost');
  return new Request(url, { method: request.method, headers, signal: gone.signal });
}

async function sendResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply.code(response.status).serializer(String);
  for (const [name, value] of response.headers) reply.header(name, value);
  if (response.body === null) return reply.send();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream) return reply.send(await response.text());
  // The head leaves before the first event: some clients (rmcp, Go SDK) wait for it before they go on.
  reply.raw.once('pipe', () => reply.raw.flushHeaders());
  return reply.send(Readable.fromWeb(response.body as ReadableStream));
}
