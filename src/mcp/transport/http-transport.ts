/** The SDK's Streamable HTTP transport with two fixes: a request whose answer can no longer come gets an error,
 *  and a cancelled request closes its stream.
 *  It must never leave a request open on a connection that has already ended. */
import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { createAnswerGuard } from './answer-guard.ts';
import { type RefusedMessage, createHttpFetch } from './http-fetch.ts';
import {
  ANSWER_LOST,
  dataIn,
  deliverInOrder,
  errorAnswer,
  idOfRefused,
  refusedAnswer,
} from './message-delivery.ts';
import { createPace } from '../pace.ts';
import { bearerOf } from '../oauth/bearer.ts';
import type { TokenSource } from '../oauth/token-source.ts';
import { createReplyGate } from '../questions/reply-gate.ts';
import type { HttpTransportOptions } from '../server-options.ts';

export interface HttpTransport extends Transport {
  readonly hasPerRequestStream: true;
  /** Ends the session on the server. Resolves whether or not the server answers. */
  endSession(): Promise<void>;
}

type Inner = Transport & Pick<StreamableHTTPClientTransport, 'terminateSession'>;
type Open = Map<string | number, AbortController>;

/** How long a server may take to acknowledge the end of a session. Milliseconds. */
const END_SESSION_MS = 1_000;
/** How long a server may take to acknowledge a cancellation before the stream is dropped anyway. Milliseconds. */
const CANCEL_MS = 2_000;
/** The longest pause before an ended stream is opened again. Milliseconds. */
const MAX_REOPEN_MS = 60_000;

/** `tokens`: null: the headers are all that the server gets. */
export function createHttpTransport(
  options: HttpTransportOptions,
  tokens: TokenSource | null = null,
): HttpTransport {
  const open: Open = new Map();
  const guard = createAnswerGuard();
  const gate = createReplyGate();
  const inner: Inner = new StreamableHTTPClientTransport(new URL(options.url), {
    requestInit: { headers: { ...options.headers } },
    ...bearerOf(
      tokens,
      createHttpFetch({
        pace: createPace(),
        privateAddresses: options.privateAddresses,
        onRefused: (message) => answerRefused(open, transport, message),
      }),
    ),
    reconnectionScheduler: reopenSoon,
  });
  const transport: HttpTransport = {
    hasPerRequestStream: true,
    get sessionId() {
      return inner.sessionId;
    },
    start: () => inner.start(),
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
    send(message, sendOptions) {
      guard.sends(message);
      return gate(message, () => send(inner, open, transport, message, sendOptions));
    },
    endSession: () => endSession(inner),
  };
  inner.onclose = () => transport.onclose?.();
  inner.onerror = (error) => transport.onerror?.(error);
  inner.onmessage = (message: JSONRPCMessage) => {
    if (!('method' in message) && message.id !== undefined) open.delete(message.id);
    deliverInOrder(guard.checked(message), (next) => transport.onmessage?.(next));
  };
  return transport;
}

/** A server may set a pause longer than a timer can hold, and the timer would fire at once. */
function reopenSoon(reopen: () => void, pauseMs: number): () => void {
  const timer = setTimeout(reopen, Math.min(pauseMs, MAX_REOPEN_MS));
  timer.unref();
  return () => clearTimeout(timer);
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
      requestSignal: eitherSignal(abort.signal, options.requestSignal),
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

/** In the legacy era a cancellation is a message of its own, and the stream would stay open. */
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
    await inner.send(message, { ...options, requestSignal: AbortSignal.timeout(CANCEL_MS) });
  } finally {
    abort?.abort();
  }
}

function eitherSignal(own: AbortSignal, given: AbortSignal | undefined): AbortSignal {
  return given === undefined ? own : AbortSignal.any([own, given]);
}

/** The caller gets the refusal; the stream of a single answer is not read any further. */
function answerRefused(
  open: Open,
  transport: Transport,
  { requestId, reason, head, tail }: RefusedMessage,
): void {
  const id = requestId ?? idOfRefused(dataIn(head), tail);
  const abort = id === null ? undefined : open.get(id);
  if (id === null || abort === undefined) return;
  open.delete(id);
  transport.onmessage?.(refusedAnswer(id, reason));
  if (requestId !== null) abort.abort();
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

async function endSession(inner: Inner): Promise<void> {
  if (inner.sessionId === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, END_SESSION_MS);
  });
  await Promise.race([inner.terminateSession().catch(() => {}), late]);
  clearTimeout(timer);
}
