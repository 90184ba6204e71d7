/** Delivers messages in an order that loses none, and makes the errors that take the place of answers.
 *  It must never throw at what a server has sent. */
import type { JSONRPCErrorResponse, JSONRPCMessage } from '@modelcontextprotocol/client';

/** Our own codes, from the range that JSON-RPC leaves to implementations: the answer is refused here, or cannot arrive. */
export const ANSWER_REFUSED = -32_095;
export const ANSWER_LOST = -32_096;

/**
 * The protocol handles a response at once, a notification one microtask later, and drops a request's progress handler
 * with its response. A response that is delayed here keeps the progress sent before it.
 */
export function deliverInOrder(message: JSONRPCMessage, deliver: (message: JSONRPCMessage) => void): void {
  if ('method' in message) deliver(message);
  else queueMicrotask(() => deliver(message));
}

/** The id of a refused answer, read from its two ends; null: not an answer, or its id is not there. */
export function idOfRefused(head: string, tail: string): number | null {
  // A log line may begin as an answer does.
  if (!VERSION.test(head) && !VERSION.test(tail)) return null;
  const found =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,\s*(?!"method")/.exec(head) ??
    /[,{]\s*"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail);
  return found === null || /^\s*\{[^{[]*"method"/.test(head) ? null : Number(found[1]);
}

const VERSION = /"jsonrpc"\s*:/;

/** The beginning of the first line of data in an event. */
export function dataIn(head: string): string {
  return /^data: ?(?<data>.*)/m.exec(head)?.groups?.['data'] ?? '';
}

/** Replaces an answer past a limit: its call ends, and no other call suffers. */
export function refusedAnswer(id: number | string, reason: string, data?: object): JSONRPCErrorResponse {
  return errorAnswer(id, ANSWER_REFUSED, `The answer of the MCP server ${reason}`, data);
}

export function errorAnswer(
  id: number | string,
  code: number,
  message: string,
  data?: object,
): JSONRPCErrorResponse {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}
