/** Reads what MCP hosts really send where the protocol asks for more: a wildcard in `Accept`, `null` for a missing member.
 *  Never changes a member that the protocol allows. */
import { isObject } from '../../../contract/json/json-object.ts';

/** Some hosts leave out `clientInfo`, which the protocol requires; the name is shown to operators only. */
const UNNAMED_CLIENT = { name: 'unknown', version: 'unknown' };
const BOTH = 'application/json, text/event-stream';

/** Writes both media types into `Accept` where the client accepts any. */
export function acceptBoth({ headers }: Request): void {
  const accept = headers.get('accept');
  if (accept === null || accept.includes('*/*')) headers.set('accept', BOTH);
}

/** The parsed body, one message or a batch, with `null` members left out and `clientInfo` filled in. */
export function readMessages(body: unknown): unknown {
  return Array.isArray(body) ? body.map(readMessage) : readMessage(body);
}

/** Most bytes of each member of `initialize` that a session keeps, as JSON. */
const MOST_KEPT_BYTES = 8 * 1024;
const KEPT = ['clientInfo', 'capabilities'] as const;

/** Which member of an `initialize` in the body is larger than a session may keep, in words; null: none. */
export function greetingFault(body: unknown): string | null {
  for (const message of Array.isArray(body) ? body : [body]) {
    if (!isObject(message) || message['method'] !== 'initialize' || !isObject(message['params'])) continue;
    const { params } = message;
    const large = KEPT.find((member) => isLarge(params[member]));
    if (large !== undefined) return `\`${large}\` of initialize is larger than ${MOST_KEPT_BYTES} bytes`;
  }
  return null;
}

/** Ends as soon as the texts in it are larger. */
function isLarge(member: unknown): boolean {
  let left = MOST_KEPT_BYTES;
  const counted = (name: string, value: unknown): unknown => {
    left -= name.length + (typeof value === 'string' ? value.length : 1);
    return left < 0 ? undefined : value;
  };
  const json = member === undefined ? '' : JSON.stringify(member, counted);
  return left < 0 || Buffer.byteLength(json) > MOST_KEPT_BYTES;
}

function readMessage(message: unknown): unknown {
  if (!isObject(message) || !isObject(message['params'])) return message;
  const { method, params } = message;
  if (method === 'initialize') return { ...message, params: initializeParams(params) };
  if (params['arguments'] !== null) return message;
  const { arguments: _, ...rest } = params;
  return { ...message, params: rest };
}

function initializeParams({ clientInfo, capabilities, ...rest }: Record<string, unknown>): object {
  const client = isObject(clientInfo) ? clientInfo : {};
  return { ...rest, clientInfo: { ...UNNAMED_CLIENT, ...client }, capabilities: capabilities ?? {} };
}
