/** Serves the tools over Streamable HTTP, to clients of both protocols, without sessions.
 *  It must never answer a web page that reaches it under a foreign name, nor read more than its bounds. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  type McpHttpHandler,
  originValidationResponse,
  readRequestBody,
} from '@modelcontextprotocol/server';
import { intakeOf } from './intake.ts';
import { createDirectiveServer, type DirectiveServerOptions } from './server.ts';

export interface HttpListenerOptions {
  /** Default of the command: 127.0.0.1. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Names beside localhost and `host` under which clients reach it. */
  readonly allowedHosts: readonly string[];
}

export interface HttpListener {
  readonly url: string;
  close(): Promise<void>;
}

const PATH = '/mcp';
const MAX_BODY_BYTES = 1024 * 1024;
const LONGEST_REQUEST_MS = 30_000;

/** Rejects when it cannot listen. */
export async function listenDirectiveHttp(
  options: DirectiveServerOptions,
  { host, port, allowedHosts }: HttpListenerOptions,
): Promise<HttpListener> {
  const handler = createMcpHandler(() => createDirectiveServer(options));
  const names = [...localhostAllowedHostnames(), bracketed(host), ...allowedHosts];
  const server = createServer({ requestTimeout: LONGEST_REQUEST_MS }, (incoming, outgoing) => {
    serve(handler, names, incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(port, host);
  await once(server, 'listening');
  return { url: urlOf(server), close: async () => close(server, handler) };
}

async function close(server: HttpServer, handler: McpHttpHandler): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await handler.close();
  server.closeAllConnections();
  await closed;
}

function urlOf(server: HttpServer): string {
  const { address, port } = server.address() as AddressInfo;
  return `http://${bracketed(address)}:${port}${PATH}`;
}

/** An IPv6 address as a URL and a Host header write it. */
function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

async function serve(
  handler: McpHttpHandler,
  names: string[],
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const request = requestOf(incoming, gone.signal);
  const response =
    hostHeaderValidationResponse(request, names) ??
    originValidationResponse(request, names) ??
    (await answerTo(handler, request));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else
    Readable.fromWeb(response.body as ReadableStream)
      .on('error', () => outgoing.destroy())
      .pipe(outgoing);
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/' } = incoming;
  const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const body = method === 'POST' ? { body: Readable.toWeb(incoming), duplex: 'half' } : {};
  return new Request(new URL(url, 'http://localhost'), { method, headers, signal, ...body } as RequestInit);
}

async function answerTo(handler: McpHttpHandler, request: Request): Promise<Response> {
  if (new URL(request.url).pathname !== PATH) return new Response(null, { status: 404 });
  if (request.method !== 'POST') return handler.fetch(request);
  const body = await readRequestBody(request, MAX_BODY_BYTES);
  if (body.tooLarge) return new Response(null, { status: 413 });
  const intake = intakeOf(Buffer.from(body.text));
  if (intake.kind === 'message') return handler.fetch(request, { parsedBody: intake.message });
  if (intake.kind === 'ignored') return new Response(null, { status: 202 });
  return Response.json(intake.answer, { status: intake.answer.error.code < -32_500 ? 400 : 200 });
}
