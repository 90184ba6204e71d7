/** A REST API as an MCP server within this process: answers the protocol's requests from an OpenAPI document.
 *  Calls go to the operator's base URL only, whatever the document says. */
import { readFile, stat } from 'node:fs/promises';
import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  ProtocolErrorCode,
  type Transport,
} from '@modelcontextprotocol/client';
import { isObject } from '../../contract/json/json-object.ts';
import { jsonExcess } from '../../platform/bounds/json-shape.ts';
import type { OpenApiTransportOptions } from '../server-options.ts';
import { deliverInOrder, errorAnswer } from '../transport/message-delivery.ts';
import { callOperation, fetched } from './http-call.ts';
import { type Operation, type Operations, operationsOf } from './operations.ts';

const VERSION = '2025-11-25';
const MOST_DOCUMENT_BYTES = 4 * 1024 * 1024;
const DOCUMENT_LIMITS = { maxDepth: 256, maxValues: 500_000 };
const DOCUMENT_MS = 30_000;

interface Api {
  readonly base: URL;
  readonly operations: ReadonlyMap<string, Operation>;
  readonly leftOut: Operations['leftOut'];
}

export function createOpenApiTransport(options: OpenApiTransportOptions): Transport {
  const stop = new AbortController();
  const inFlight = new Map<string | number, AbortController>();
  let api: Api | null = null;
  let isFresh = false;

  async function listed(signal: AbortSignal): Promise<object> {
    // The document that the connection began with is not read twice for its first list.
    if (api === null || !isFresh) api = await readApi(options, signal);
    isFresh = false;
    return { tools: [...[...api.operations.values()].map(({ tool }) => tool), ...api.leftOut] };
  }

  async function called({ params = {} }: JSONRPCRequest, signal: AbortSignal): Promise<object | null> {
    const { name, arguments: args, _meta: meta } = params as Readonly<Record<string, unknown>>;
    const operation = api?.operations.get(String(name));
    if (api === null || operation === undefined) return null;
    const call = { operation, arguments: isObject(args) ? args : {}, meta: isObject(meta) ? meta : {} };
    return callOperation(api.base, options, call, signal);
  }

  async function answered(request: JSONRPCRequest, signal: AbortSignal): Promise<JSONRPCMessage> {
    const { id, method } = request;
    const result = (value: object): JSONRPCMessage => ({ jsonrpc: '2.0', id, result: { ...value } });
    switch (method) {
      case 'initialize':
        return result({
          protocolVersion: VERSION,
          capabilities: { tools: {} },
          serverInfo: { name: 'openapi', version: '1' },
        });
      case 'ping':
        return result({});
      case 'tools/list':
        return result(await listed(signal));
      case 'tools/call': {
        const answer = await called(request, signal);
        return answer === null
          ? errorAnswer(id, ProtocolErrorCode.InvalidParams, 'Unknown tool')
          : result(answer);
      }
      default:
        return errorAnswer(id, ProtocolErrorCode.MethodNotFound, 'Method not found');
    }
  }

  const transport: Transport = {
    async start() {
      api = await readApi(options, stop.signal);
      isFresh = true;
    },
    async send(message) {
      if (!('method' in message)) return;
      if (!('id' in message)) {
        if (message.method === 'notifications/cancelled')
          inFlight.get(message.params?.['requestId'] as string)?.abort();
        return;
      }
      const over = new AbortController();
      inFlight.set(message.id, over);
      try {
        const answer = await answered(message as JSONRPCRequest, AbortSignal.any([stop.signal, over.signal]));
        deliverInOrder(answer, (next) => transport.onmessage?.(next));
      } finally {
        inFlight.delete(message.id);
      }
    },
    async close() {
      stop.abort();
      transport.onclose?.();
    },
  };
  return transport;
}

/** Throws an error that names what is wrong with the document. */
async function readApi(options: OpenApiTransportOptions, stopped: AbortSignal): Promise<Api> {
  const { document: place, operations: names } = options;
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(DOCUMENT_MS)]);
  const bytes = /^https?:/i.test(place) ? await fetchedDocument(options, signal) : await fileDocument(place);
  if (jsonExcess(bytes, DOCUMENT_LIMITS) !== null)
    throw new Error('The OpenAPI document is too deep, or has too many values');
  let document: unknown;
  try {
    document = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new Error('The OpenAPI document is no JSON; convert one in YAML first');
  }
  try {
    const { callable, leftOut } = operationsOf(document, names);
    return {
      base: baseOf(options, document),
      operations: new Map(callable.map((each) => [each.tool.name, each])),
      leftOut,
    };
  } catch (error) {
    throw new Error(`The OpenAPI document ${(error as Error).message}`, { cause: error });
  }
}

async function fetchedDocument(options: OpenApiTransportOptions, signal: AbortSignal): Promise<Buffer> {
  const url = new URL(options.document);
  // The credentials are those of the API: another host does not get them.
  const isOfApi = options.baseUrl === null || new URL(options.baseUrl).origin === url.origin;
  const reach = isOfApi ? options : { ...options, headers: {} };
  const { status, bytes } = await fetched(url, reach, signal);
  if (status !== 200) throw new Error(`The OpenAPI document was answered with HTTP ${status}`);
  return bytes;
}

async function fileDocument(path: string): Promise<Buffer> {
  if ((await stat(path)).size > MOST_DOCUMENT_BYTES)
    throw new Error(`The OpenAPI document is larger than ${MOST_DOCUMENT_BYTES} bytes`);
  return readFile(path);
}

/** A fetched document may not send calls, and the credentials in them, to another origin than its own. */
function baseOf({ baseUrl, document: place }: OpenApiTransportOptions, document: unknown): URL {
  if (baseUrl !== null) return new URL(baseUrl);
  const isFetched = /^https?:/i.test(place);
  const servers = isObject(document) && Array.isArray(document['servers']) ? document['servers'] : [];
  const url: unknown = isObject(servers[0]) ? servers[0]['url'] : isFetched ? '/' : undefined;
  const isUsable =
    typeof url === 'string' && !url.includes('{') && URL.canParse(url, isFetched ? place : undefined);
  const base = isUsable ? new URL(url as string, isFetched ? place : undefined) : null;
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new Error('names no URL of the API: set "base_url"');
  if (isFetched && base.origin !== new URL(place).origin)
    throw new Error(`names ${base.origin}, another origin than its own: set "base_url" to allow that`);
  return base;
}
