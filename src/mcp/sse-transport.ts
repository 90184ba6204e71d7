/** The SDK's transport of the older protocol over SSE, with bounds on everything that comes back.
 *  It must never end the one stream of all calls because of one answer. */
import { type JSONRPCMessage, SSEClientTransport, type Transport } from '@modelcontextprotocol/client';
import { createAnswerGuard } from './answer-guard.ts';
import { type RefusedMessage, createHttpFetch } from './http-fetch.ts';
import { dataIn, deliverInOrder, idOfRefused, refusedAnswer } from './message-delivery.ts';
import { createPace } from './pace.ts';
import { bearerOf } from './oauth/bearer.ts';
import type { TokenSource } from './oauth/token-source.ts';
import { createReplyGate } from './reply-gate.ts';
import type { HttpTransportOptions } from './server-options.ts';

export function createSseTransport(
  { url, headers }: HttpTransportOptions,
  tokens: TokenSource | null = null,
): Transport {
  const guard = createAnswerGuard();
  const gate = createReplyGate();
  const inner = new SSEClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    ...bearerOf(
      tokens,
      createHttpFetch({
        pace: createPace(),
        answersElsewhere: true,
        onRefused: (message) => answerRefused(transport, message),
      }),
    ),
  });
  const transport: Transport = {
    start: () => inner.start(),
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion(version),
    send(message) {
      guard.sends(message);
      return gate(message, () => inner.send(message));
    },
  };
  inner.onclose = () => transport.onclose?.();
  inner.onerror = (error) => transport.onerror?.(error);
  inner.onmessage = (message: JSONRPCMessage) =>
    deliverInOrder(guard.checked(message), (next) => transport.onmessage?.(next));
  return transport;
}

function answerRefused(transport: Transport, { reason, head, tail }: RefusedMessage): void {
  const id = idOfRefused(dataIn(head), tail);
  if (id !== null) transport.onmessage?.(refusedAnswer(id, reason));
}
