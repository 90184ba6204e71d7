/** The requests of one connection that have no answer yet, so that the end of its input does not take their answers.
 *  It must never change a message, nor wait for what is open by design. */
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import type { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

export interface OpenRequests {
  /** Resolves when the connection is closed, by whichever side. */
  readonly closed: Promise<void>;
  /** Resolves when every request that was read has its answer. */
  answered(): Promise<void>;
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

/** Call it when the transport is in use, and before its input flows. */
export function watchRequests(transport: StdioServerTransport): OpenRequests {
  const open = new Set<unknown>();
  const closed = Promise.withResolvers<void>();
  let none = Promise.withResolvers<void>();
  const settle = (id: unknown): void => {
    open.delete(id);
    if (open.size === 0) none.resolve();
  };
  const { onmessage: hear, onclose: end } = transport;
  const send = transport.send.bind(transport);

  transport.onmessage = (message: JSONRPCMessage) => {
    const { id, method, params } = message as Message;
    if (isAnswered(message as Message)) open.add(id);
    else if (method === 'notifications/cancelled') settle(params?.requestId);
    hear?.(message);
  };
  transport.send = async (message) => {
    await send(message);
    const { id, method } = message as Message;
    if (method === undefined) settle(id);
  };
  transport.onclose = () => {
    end?.();
    closed.resolve();
  };

  return {
    closed: closed.promise,
    async answered() {
      if (open.size === 0) return;
      none = Promise.withResolvers<void>();
      await none.promise;
    },
  };
}

/** A subscription has its answer when it ends. */
function isAnswered({ id, method }: Message): boolean {
  return id !== undefined && method !== undefined && method !== 'subscriptions/listen';
}
