/** Turns lines of text into JSON-RPC messages, and delivers them in an order that loses none.
 *  It must never throw: what is not a message is skipped. */
import type { JSONRPCErrorResponse, JSONRPCMessage } from '@modelcontextprotocol/client';

/** Our own codes, from the range that JSON-RPC leaves to implementations: the answer is refused here, or cannot arrive. */
export const ANSWER_TOO_LARGE = -32_095;
export const ANSWER_LOST = -32_096;

/** Servers print anything to stdout; only JSON-RPC 2.0 objects count, alone or in a batch. */
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
  const found =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*(?!"method")/.exec(head) ??
    /[,{]\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail);
  return found === null || /^\s*\{[^{[]*"method"/.test(head) ? null : Number(found[1]);
}

/** The beginning of the first line of data in an event. */
export function dataIn(head: string): string {
  return /^data: ?(?<data>.*)/m.exec(head)?.groups?.['data'] ?? '';
}

/** Replaces an answer past a limit: its call ends, and no other call suffers. */
export function refusedAnswer(id: number | string, reason: string): JSONRPCErrorResponse {
  return errorAnswer(id, ANSWER_TOO_LARGE, `The answer of the MCP server ${reason}`);
}

export function errorAnswer(id: number | string, code: number, message: string): JSONRPCErrorResponse {
  return { jsonrpc: '2.0', id, error: { code, message } };
}
