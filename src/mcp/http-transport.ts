/** The SDK's Streamable HTTP transport with its loose ends tied: a request whose answer can no longer come is
 *  answered with an error, a cancelled one lets go of its stream, a refusal keeps its Retry-After.
 *  It must never leave a request open on a connection that has already ended. */
import {
  type FetchLike,
  type JSONRPCMessage,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { ANSWER_LOST, deliverInOrder, errorAnswer } from './message-delivery.ts';
import type { HttpTransportOptions } from './server-options.ts';

export interface HttpTransport extends Transport {
  readonly hasPerRequestStream: true;
  /** Tells the server that its session is over. Resolves whether or not it listens. */
  leave(): Promise<void>;
}

type Inner = Transport & Pick<StreamableHTTPClientTransport, 'terminateSession'>;
type Open = Map<string | number, AbortController>;

/** How long a server may take to acknowledge the end of a session. Milliseconds. */
const LEAVE_MS = 1_000;

export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const inner: Inner = new StreamableHTTPClientTransport(new URL(options.url), {
    requestInit: { headers: { ...options.headers } },
    fetch: fetchKeepingRetryAfter,
  });
  const open: Open = new Map();
  const transport: HttpTransport = {
    hasPerRequestStream: true,
    get sessionId() {
      return inner.sessionId;
    },
    start: () => inner.start(),
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
    send: (message, sendOptions) => send(inner, open, transport, message, sendOptions),
    leave: () => leave(inner),
  };
  inner.onclose = () => transport.onclose?.();
  inner.onerror = (error) => transport.onerror?.(error);
  inner.onmessage = (message: JSONRPCMessage) => {
    if (!('method' in message) && message.id !== undefined) open.delete(message.id);
    deliverInOrder(message, (next) => transport.onmessage?.(next));
  };
  return transport;
}

async function send(
  inner: Inner,
  open: Open,
  transport: Transport,
  message: JSONRPCMessage,
  options: TransportSendOptions = {},
): Promise<void> {
  if (isCancellation(message)) return sendCancellation(inner, open, message, options);
  if (!('method' in message && 'id' in message)) return inner.send(message, options);
  const { id } = message;
  const abort = new AbortController();
  open.set(id, abort);
  try {
    await inner.send(message, {
      ...options,
      requestSignal: options.requestSignal ?? abort.signal,
      onRequestStreamEnd: () => {
        options.onRequestStreamEnd?.();
        if (!open.delete(id)) return;
        transport.onmessage?.(errorAnswer(id, ANSWER_LOST, 'The response stream ended before the answer'));
      },
    });
  } catch (error) {
    open.delete(id);
    throw error;
  }
}

/** In the legacy era the server hears of the cancellation in a message of its own, and the stream would stay open. */
async function sendCancellation(
  inner: Inner,
  open: Open,
  message: JSONRPCMessage,
  options: TransportSendOptions,
): Promise<void> {
  const id = cancelledId(message);
  const abort = id === undefined ? undefined : open.get(id);
  if (id !== undefined) open.delete(id);
  try {
    await inner.send(message, options);
  } finally {
    abort?.abort();
  }
}

function isCancellation(message: JSONRPCMessage): boolean {
  return 'method' in message && message.method === 'notifications/cancelled';
}

function cancelledId(message: JSONRPCMessage): string | number | undefined {
  const params: unknown = 'params' in message ? message.params : undefined;
  if (typeof params !== 'object' || params === null || !('requestId' in params)) return undefined;
  const { requestId } = params;
  return typeof requestId === 'string' || typeof requestId === 'number' ? requestId : undefined;
}

async function leave(inner: Inner): Promise<void> {
  if (inner.sessionId === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LEAVE_MS);
  });
  await Promise.race([inner.terminateSession().catch(() => {}), late]);
  clearTimeout(timer);
}

/** The SDK's error for a refused request has no headers; Retry-After has to be put in before it is lost. */
const fetchKeepingRetryAfter: FetchLike = async (url, init) => {
  const response = await fetch(url, init);
  if (response.status !== 429 && response.status !== 503) return response;
  const text = await response.text().catch(() => '');
  const retryAfterMs = readRetryAfterMs(response.headers.get('retry-after'), Date.now());
  throw new SdkHttpError(
    SdkErrorCode.ClientHttpNotImplemented,
    `HTTP ${response.status}: ${text.slice(0, 500)}`,
    {
      status: response.status,
      statusText: response.statusText,
      text,
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
    },
  );
};

/** Retry-After is either seconds or an HTTP date. null: absent or neither. */
export function readRetryAfterMs(header: string | null, now: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1_000));
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
