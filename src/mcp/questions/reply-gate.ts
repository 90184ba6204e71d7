/** Limits how many answers to a server's own requests are sent at once.
 *  Requests and notifications of the client are never held back. */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';

/** Each answer is an HTTP request: a server that asks without end must not make this process send without end. */
const MAX_REPLIES = 64;

/** Answers above the limit are dropped: a server that asks so much gets no answer. */
export type ReplyGate = (message: JSONRPCMessage, send: () => Promise<void>) => Promise<void>;

export function createReplyGate(): ReplyGate {
  let replies = 0;
  return async (message, send) => {
    if ('method' in message) return send();
    if (replies >= MAX_REPLIES) return;
    replies += 1;
    try {
      await send();
    } finally {
      replies -= 1;
    }
  };
}
