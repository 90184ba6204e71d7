/** Reads a JSON value as a JSON-RPC message: harmless mistakes are put right, and an answer that cannot be used becomes an error.
 *  It never drops an answer, which a caller waits for, nor changes the content of a tool. */
import { type JSONRPCMessage, specTypeSchemas } from '@modelcontextprotocol/client';
import { isObject } from '../../contract/json/json-object.ts';
import { parseMessage } from './kept-digits.ts';
import { refusedAnswer } from './message-delivery.ts';

type Members = Readonly<Record<string, unknown>>;
type Id = string | number;

export interface ReadMessages {
  readonly messages: readonly JSONRPCMessage[];
  /** The text is one message, and nothing is wrong with it. */
  readonly isSound: boolean;
}

/** All messages of a text, which holds one or, in an older form, a batch. null: not JSON. */
export function readMessages(text: string): ReadMessages | null {
  try {
    const { value: parsed, isChanged } = parseMessage(text.trim());
    const values = Array.isArray(parsed) ? parsed : [parsed];
    const messages = values.map(readMessage).filter((message) => message !== null);
    return { messages, isSound: messages[0] === parsed && !isChanged };
  } catch {
    return null;
  }
}

/** Message of the JSON-RPC error of a text, whatever request it is for; null: none. */
export function errorMessageIn(text: string): string | null {
  const error = errorIn(text);
  return error === null ? null : String(error['message']);
}

/** The same of its code. */
export function errorCodeIn(text: string): number | null {
  const error = errorIn(text);
  return error === null ? null : Number(error['code']);
}

function errorIn(text: string): Members | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) && isGiven(parsed['error']) ? errorBody(parsed['error']) : null;
  } catch {
    return null;
  }
}

/** Servers print anything to stdout, and keep a stream alive with anything. */
export function startsAsMessage(text: string): boolean {
  return text.trimStart().startsWith('{');
}

/** null: not a message. The value itself when nothing is wrong with it. */
export function readMessage(value: unknown): JSONRPCMessage | null {
  if (!isObject(value)) return null;
  if ('result' in value || 'error' in value || !isGiven(value['method'])) return readAnswer(value);
  return typeof value['method'] === 'string' ? readRequest(value) : null;
}

export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** Each place at which a value differs from a type of the protocol. */
export function issuesOf(
  schema: (typeof specTypeSchemas)[keyof typeof specTypeSchemas],
  value: unknown,
): Issue[] {
  const checked = schema['~standard'].validate(value);
  // Every schema of the protocol is checked at once.
  if (checked instanceof Promise || checked.issues === undefined) return [];
  return checked.issues.map(({ message, path = [] }) => ({
    path: path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.'),
    message,
  }));
}

/** PHP writes an empty object as an empty list. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** A request or a notification. */
function readRequest(value: Members): JSONRPCMessage | null {
  const { params, ...rest } = value;
  if (params !== undefined && params !== null && typeof params !== 'object') return null;
  const members = isObject(params) ? params : {};
  const hasMeta = isEmptyList(members['_meta']);
  const isRight = params !== null && !isEmptyList(params) && !hasMeta;
  if (isRight && value['jsonrpc'] === '2.0') return value as unknown as JSONRPCMessage;
  const { _meta: _empty, ...others } = members;
  const read = hasMeta ? others : params;
  const given = !isGiven(read) || isEmptyList(read) ? {} : { params: read };
  return { ...rest, ...given, jsonrpc: '2.0' } as unknown as JSONRPCMessage;
}

function readAnswer(value: Members): JSONRPCMessage | null {
  const { id } = value;
  if (typeof id !== 'string' && !(typeof id === 'number' && Number.isInteger(id))) return null;
  if (value['jsonrpc'] === undefined && !isBareAnswer(value)) return null;
  const hasResult = isGiven(value['result']);
  const hasError = isGiven(value['error']) && value['error'] !== false;
  if (hasResult && hasError) return refusedAnswer(id, 'has both a result and an error');
  if (hasError) return answer(value, id, 'error', errorBody(value['error']));
  if (!hasResult) return refusedAnswer(id, 'has neither a result nor an error');
  const { result } = value;
  if (!isObject(result)) return refusedAnswer(id, 'has a result that is not an object');
  const read = withoutNulls(result);
  const fault = isGiven(read['_meta']) ? metaFault(read['_meta']) : null;
  return fault === null ? answer(value, id, 'result', read) : refusedAnswer(id, fault);
}

/** Servers log JSON to stdout, also with an id of its own: without a version an answer has nothing but its own members. */
function isBareAnswer({ id: _id, ...members }: Members): boolean {
  const given = Object.entries(members).filter(([, member]) => isGiven(member));
  return given.length === 1 && given.every(([key, member]) => ANSWERED.has(key) && isObject(member));
}

const ANSWERED: ReadonlySet<string> = new Set(['result', 'error']);

/** The protocol's client drops the whole answer for it. null: nothing is wrong with it. */
function metaFault(meta: unknown): string | null {
  if (!isObject(meta)) return 'has a `_meta` that is not an object';
  const [issue] = issuesOf(specTypeSchemas.Result, { _meta: meta });
  if (issue === undefined) return null;
  return `has a member that is not valid: ${issue.path}: ${issue.message}`.slice(0, MAX_FAULT_CHARACTERS);
}

const MAX_FAULT_CHARACTERS = 300;

function isGiven(member: unknown): boolean {
  return member !== undefined && member !== null;
}

function answer(value: Members, id: Id, key: 'result' | 'error', body: Members): JSONRPCMessage {
  const isSound = value['jsonrpc'] === '2.0' && value[key] === body && Object.keys(value).length === 3;
  return (isSound ? value : { jsonrpc: '2.0', id, [key]: body }) as unknown as JSONRPCMessage;
}

const INTERNAL_ERROR = -32_603;
const NO_MESSAGE = 'The MCP server answered with an error';

function errorBody(error: unknown): Members {
  if (!isObject(error))
    return { code: INTERNAL_ERROR, message: typeof error === 'string' ? error : NO_MESSAGE };
  const { code, message } = error;
  if (Number.isInteger(code) && typeof message === 'string') return error;
  const number = typeof code === 'string' && /^-?\d{1,9}$/.test(code) ? Number(code) : code;
  const isNumber = Number.isInteger(number);
  return {
    ...(isNumber || code === undefined ? {} : { data: { code } }),
    ...error,
    code: isNumber ? number : INTERNAL_ERROR,
    message: typeof message === 'string' ? message : NO_MESSAGE,
  };
}

/** Servers that write every member of a type write null for those that are absent, PHP an empty list for an empty object. */
function withoutNulls(result: Members): Members {
  const { capabilities, content } = result;
  if (isObject(capabilities) || isEmptyList(capabilities)) {
    const { capabilities: _, ...others } = withoutAnyNull(result) as Members;
    return { ...withoutAbsent(others), capabilities: withObjects(withoutAnyNull(capabilities)) };
  }
  const items = Array.isArray(content) ? withoutNullsInItems(content) : content;
  const isSame = items === content && !OPTIONAL.some((key) => isAbsent(key, result));
  if (isSame) return result;
  return { ...withoutAbsent(result), ...(items === undefined ? {} : { content: items }) };
}

function withoutAbsent(result: Members): Members {
  const kept = Object.entries(result).filter(([key]) => !isAbsent(key, result));
  const { structuredContent } = result;
  const isEmptyObject = isEmptyList(structuredContent) && isAbsent('structuredContent', result);
  return { ...Object.fromEntries(kept), ...(isEmptyObject ? { structuredContent: {} } : {}) };
}

const OPTIONAL = ['_meta', 'isError', 'structuredContent', 'nextCursor', 'ttlMs', 'cacheScope'] as const;

/** In the modern protocol null and a list are values that a tool may answer with. */
function isAbsent(key: string, result: Members): boolean {
  const member = result[key];
  if (key === 'structuredContent')
    return result['resultType'] === undefined && (member === null || isEmptyList(member));
  if (key === '_meta' && isEmptyList(member)) return true;
  return member === null && (OPTIONAL as readonly string[]).includes(key);
}

/** All values among the capabilities are objects or flags. */
function withObjects(value: unknown): unknown {
  if (isEmptyList(value)) return {};
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withObjects(member)]));
}

function withoutNullsInItems(content: readonly unknown[]): readonly unknown[] {
  const items = content.map(withoutNullMembers);
  return items.some((item, index) => item !== content[index]) ? items : content;
}

/** Repairs an item of content and the objects in it, whose members are all the protocol's. */
function withoutNullMembers(value: unknown): unknown {
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(
    ([key, member]) => member !== null && !(OBJECTS.has(key) && isEmptyList(member)),
  );
  const inner = members.map(([key, member]) => [key, INNER.has(key) ? withoutNullMembers(member) : member]);
  const isSame =
    members.length === Object.keys(value).length &&
    inner.every(([key, member]) => value[key as string] === member);
  return isSame ? value : Object.fromEntries(inner);
}

const INNER: ReadonlySet<string> = new Set(['annotations', 'resource']);
const OBJECTS: ReadonlySet<string> = new Set(['annotations', '_meta']);

/** Repairs an answer to the handshake, which holds only members of the protocol. */
function withoutAnyNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAnyNull);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([key, member]) => [key, withoutAnyNull(member)]));
}
