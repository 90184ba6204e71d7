/** From a line of text to JSON-RPC messages, handed to the protocol in an order that loses none.
 *  It must never throw: what is not a message is left out. */
import type { JSONRPCErrorResponse, JSONRPCMessage } from '@modelcontextprotocol/client';

/** Our own code inside the range JSON-RPC leaves to implementations: the answer exists, but not here. */
export const ANSWER_TOO_LARGE = -32_095;
export const ANSWER_LOST = -32_096;

/** The largest message that is read, over any transport. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Servers print all sorts of things to stdout; only objects of JSON-RPC 2.0 count, alone or in a batch. */
export function readMessages(line: string): JSONRPCMessage[] {
  const first = line.trimStart()[0];
  if (first !== '{' && first !== '[') return [];
  try {
    const parsed: unknown = JSON.parse(line);
    return (Array.isArray(parsed) ? parsed : [parsed]).filter(isMessage);
  } catch {
    return [];
  }
}

function isMessage(value: unknown): value is JSONRPCMessage {
  if (typeof value !== 'object' || value === null || !('jsonrpc' in value) || value.jsonrpc !== '2.0')
    return false;
  if ('method' in value) return typeof value.method === 'string' && hasObject(value, 'params', true);
  if (!('id' in value)) return false;
  return hasObject(value, 'result', false) || isErrorBody('error' in value ? value.error : undefined);
}

function hasObject(value: object, key: string, optional: boolean): boolean {
  const member: unknown = Reflect.get(value, key);
  return member === undefined ? optional : typeof member === 'object' && member !== null;
}

function isErrorBody(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('code' in value) || !('message' in value))
    return false;
  return typeof value.code === 'number' && typeof value.message === 'string';
}

/** The protocol handles a notification one microtask late but a response at once, and forgets a request's progress
 *  handler with its response: a response that waits its turn keeps the progress that was sent before it. */
export function deliverInOrder(message: JSONRPCMessage, deliver: (message: JSONRPCMessage) => void): void {
  if ('method' in message) deliver(message);
  else queueMicrotask(() => deliver(message));
}

/** Stands in for an answer past the size bound, so that its call ends and no other one suffers. */
export function oversizedAnswer(head: string, tail: string): JSONRPCErrorResponse | null {
  const found =
    /^\s*\{(?:"jsonrpc":"2\.0",)?"id":(\d+)/.exec(head) ??
    /"id":(\d+)(?:,"jsonrpc":"2\.0")?\}\s*$/.exec(tail);
  if (found === null) return null;
  return tooLargeAnswer(Number(found[1]));
}

export function tooLargeAnswer(id: number | string): JSONRPCErrorResponse {
  return errorAnswer(id, ANSWER_TOO_LARGE, `The answer is larger than ${MAX_MESSAGE_BYTES} bytes`);
}

export function errorAnswer(id: number | string, code: number, message: string): JSONRPCErrorResponse {
  return { jsonrpc: '2.0', id, error: { code, message } };
}
