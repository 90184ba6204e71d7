/** The MCP server over HTTP, for clients of both eras: a request in, a response out.
 *  It must never check a host or an origin, nor read a body: the API has done both. */
import { createMcpHandler, isLegacyRequest, type ServerEventBus } from '@modelcontextprotocol/server';
import { isObject } from '../../contract/json/json-object.ts';
import { acceptBoth, greetingFault, readMessages } from './questions/host-messages.ts';
import type { ListWatch } from './list-watch.ts';
import { mismatchedHeader } from './mirrored-arguments.ts';
import { announceChanges } from './server.ts';
import { createSessionPool, createSessions } from './sessions.ts';
import { createToolServers, type ToolServersOptions } from './tool-servers.ts';
import type { ToolSource } from './tool-source.ts';

export interface McpEndpoint {
  handle(request: Request, parsedBody: unknown): Promise<Response>;
  /** Ends every stream and every wait; calls go on. */
  close(): Promise<void>;
}

/** Bounds of all endpoints of a process together. */
export const SESSIONS = { most: 1_000, mostOfCaller: 100 };
const IDLE_SESSION_MS = 30 * 60_000;
/** In one body. Only the revision 2025-03-26 has batches, and each message may ask for the whole list of tools. */
const MOST_MESSAGES = 16;
const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;
/** Error code of the protocol. */
const HEADER_MISMATCH = -32_020;

export function createMcpEndpoint(options: ToolServersOptions): McpEndpoint {
  const servers = createToolServers(options);
  const modern = createMcpHandler(servers.create, { legacy: 'reject', bus: listBus(servers.list) });
  const sessions = createSessions({
    createServer: async () => announceChanges(await servers.create({ era: 'legacy' }), servers),
    callerOf: options.callerOf,
    pool: options.sessions ?? createSessionPool(SESSIONS),
    idleMs: IDLE_SESSION_MS,
  });

  async function answer(request: Request, parsedBody: unknown): Promise<Response> {
    const isLegacy = await isLegacyRequest(request, parsedBody);
    for (const message of isLegacy ? mirroringMessages(request, parsedBody) : [parsedBody]) {
      const refusal = await otherHeaders(servers.tools, request, message);
      if (refusal !== null) return refusal;
    }
    return isLegacy ? sessions.handle(request, parsedBody) : modern.fetch(request, { parsedBody });
  }

  async function close(): Promise<void> {
    servers.stop();
    await Promise.all([modern.close(), sessions.close()]);
  }

  return { handle: boundedHandler(answer), close };
}

/** Refuses what no server has to read, and bounds what a client may leave unread. */
export function boundedHandler(
  answer: (request: Request, parsedBody: unknown) => Promise<Response>,
): McpEndpoint['handle'] {
  return async (request, parsedBody) => {
    if (Array.isArray(parsedBody) && parsedBody.length > MOST_MESSAGES) return tooManyMessages();
    const fault = greetingFault(parsedBody);
    if (fault !== null) return refused(INVALID_PARAMS, fault);
    acceptBoth(request);
    return bounded(await answer(request, readMessages(parsedBody)));
  };
}

/** Each stream of a client that wants to know of changes is a listener. */
function listBus(list: ListWatch): ServerEventBus {
  return {
    subscribe: (listener) => list.listen((changed) => listener({ kind: `${changed}_list_changed` })),
    // Nothing else is announced.
    publish: () => {},
  };
}

/** A client of the older protocol need not repeat arguments as headers; where it does, a proxy may decide by them all the same. */
function mirroringMessages({ headers }: Request, body: unknown): readonly unknown[] {
  if (![...headers.keys()].some((name) => name.startsWith('mcp-param-'))) return [];
  return Array.isArray(body) ? body : [body];
}

/** The refusal of a call whose headers say other things than its arguments; null: no such call. The SDK checks the rest. */
async function otherHeaders(
  tools: ToolSource,
  { headers }: Request,
  body: unknown,
): Promise<Response | null> {
  if (!isObject(body) || body['method'] !== 'tools/call' || !isObject(body['params'])) return null;
  const { name, arguments: args } = body['params'];
  // What cannot be found, or not now, is answered by the call itself.
  const offer = typeof name === 'string' ? await tools.find(name).catch(() => undefined) : undefined;
  if (offer === undefined || offer.server === null) return null;
  const header = mismatchedHeader(offer.input_schema, args, headers);
  if (header === null) return null;
  const id = typeof body['id'] === 'string' || typeof body['id'] === 'number' ? body['id'] : null;
  const message = `Bad Request: the header ${header} and the argument that it repeats disagree`;
  const error = { code: HEADER_MISMATCH, message, data: { mismatch: { header } } };
  return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 });
}

function tooManyMessages(): Response {
  return refused(INVALID_REQUEST, `A batch has at most ${MOST_MESSAGES} messages`);
}

function refused(code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status: 400 });
}

/** A stream to a client that may not read it. */
function bounded(response: Response): Response {
  const { body, status, headers } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  return body === null || !isStream ? response : new Response(boundedStream(body), { status, headers });
}

/** An answer of several megabytes is one event; what waits behind one that is not read is not kept. */
const MOST_WAITING_BYTES = 1024 * 1024;

/** The source is always read at once: what its own queue would hold is counted here. */
export function boundedStream(
  source: ReadableStream<Uint8Array>,
  mostWaitingBytes = MOST_WAITING_BYTES,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const size = ({ byteLength }: Uint8Array): number => byteLength;
  return new ReadableStream<Uint8Array>(
    { start: (client) => void pass(reader, client), cancel: async (reason) => reader.cancel(reason) },
    { highWaterMark: mostWaitingBytes, size },
  );
}

async function pass(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  client: ReadableStreamDefaultController<Uint8Array>,
): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return client.close();
      if ((client.desiredSize ?? 0) <= 0) throw new Error('The client does not read its events');
      client.enqueue(value);
    }
  } catch (error) {
    // Tolerates a client that has gone: its stream is closed already.
    client.error(error);
    await reader.cancel(error).catch(() => {});
  }
}
