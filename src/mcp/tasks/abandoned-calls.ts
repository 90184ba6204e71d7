/** The calls of a session that this side has ended before their answer: their server may be at work on them all the same.
 *  It must never change a message, nor hold a call for longer than its time. */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

/** A server need not answer a call that was cancelled, so that its end is unknown. Milliseconds. */
const ABANDONED_MS = 5 * 60_000;
/** The same, where the call was ended while it asked: its server reads so in the answer to its question too. */
const TOLD_MS = 2_000;
const MOST_ABANDONED = 1_024;

export interface AbandonedCalls {
  /** How long the server may ask for one of them, milliseconds; 0: there is none. */
  leftMs(): number;
}

type Id = string | number;

type Asks = () => boolean;

/** Listens on a connected transport. `sent`: a call goes out; its value says whether that call has a question open. */
export function watchAbandoned(
  transport: Pick<Transport, 'send' | 'onmessage'>,
  sent: () => Asks,
  now: () => number = () => performance.now(),
): AbandonedCalls {
  const calls = new Map<Id, Asks>();
  const abandoned = new Map<Id, number>();
  const abandon = (id: Id): void => {
    const asks = calls.get(id);
    if (asks === undefined) return;
    calls.delete(id);
    const [oldest] = abandoned.keys();
    if (abandoned.size >= MOST_ABANDONED && oldest !== undefined) abandoned.delete(oldest);
    abandoned.set(id, now() + (asks() ? TOLD_MS : ABANDONED_MS));
  };
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const id = callIdOf(message);
    if (id !== null) calls.set(id, sent());
    const ended = cancelledIdOf(message);
    if (ended !== null) abandon(ended);
    // One that could not be sent has no answer.
    return send(message, options).catch((error: unknown) => {
      if (id !== null) calls.delete(id);
      throw error;
    });
  };
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if (!('method' in message) && message.id !== undefined) {
      calls.delete(message.id);
      abandoned.delete(message.id);
    }
    deliver?.(message, extra);
  };
  return {
    leftMs() {
      for (const [id, untilAt] of abandoned) if (untilAt <= now()) abandoned.delete(id);
      return abandoned.size === 0 ? 0 : Math.max(...abandoned.values()) - now();
    },
  };
}

function callIdOf(message: JSONRPCMessage): Id | null {
  return 'method' in message && 'id' in message && message.method === 'tools/call' ? message.id : null;
}

function cancelledIdOf(message: JSONRPCMessage): Id | null {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return null;
  return (message.params?.['requestId'] as Id | undefined) ?? null;
}
