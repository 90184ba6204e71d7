/** Checks each answer before the protocol does: an endless listing, or a result with too many items, is refused.
 *  It must never change what a tool has said: it only fills in what the modern protocol requires and servers forget. */
import { type JSONRPCMessage, specTypeSchemas } from '@modelcontextprotocol/client';
import { isObject } from '../../contract/json/json-object.ts';
import { refusedAnswer } from './message-delivery.ts';
import { LISTING_LIMITS, MAX_CONTENT_ITEMS } from './message-limits.ts';
import { readDescriptor } from '../tools/read-descriptor.ts';
import { type Issue, issuesOf } from './read-message.ts';
import { keptContent } from '../tools/tool-result.ts';

export interface AnswerGuard {
  /** Sees every message on its way to the server. */
  sends(message: JSONRPCMessage): void;
  /** The message itself, or the error that replaces it. */
  checked(message: JSONRPCMessage): JSONRPCMessage;
}

/** The pages of one listing so far. */
interface Listing {
  pages: number;
  tools: number;
  bytes: number;
  readonly cursors: Set<unknown>;
}

interface Page {
  readonly listing: Listing;
  readonly cursor: unknown;
}

/** Member of `_meta` for the task that a server answers a call with: the protocol's client knows results only. */
export const TASK_META = 'adjutant/task';

export function createAnswerGuard(): AnswerGuard {
  const asked = new Map<string | number, Page>();
  const calls = new Set<string | number>();
  let current: Listing | null = null;
  return {
    sends(message) {
      if (!('method' in message && 'id' in message)) return;
      if (message.method === 'tools/call') noteCall(calls, message.id);
      if (message.method !== 'tools/list') return;
      const cursor: unknown = message.params?.['cursor'];
      if (cursor === undefined || current === null)
        current = { pages: 0, tools: 0, bytes: 0, cursors: new Set() };
      asked.set(message.id, { listing: current, cursor });
    },
    checked(message) {
      if ('method' in message || message.id === undefined) return message;
      const page = asked.get(message.id);
      asked.delete(message.id);
      const isCall = calls.delete(message.id);
      if (!('result' in message)) return message;
      const made = page === undefined ? withTaskInMeta(message.result) : message.result;
      const reason = page === undefined ? contentExcess(made) : listingExcess(page, made);
      if (reason !== null) return refusedAnswer(message.id, reason);
      const result = isCall && made === message.result ? withPayload(made) : made;
      if (result === null) return refusedAnswer(message.id, 'has neither content nor any other data');
      const fault = isCall ? resultFault(result) : null;
      if (fault !== null) return refusedAnswer(message.id, fault.reason, fault.data);
      const read = page === undefined ? result : readPage(page, result);
      return { ...message, result: { ...read, ...missingIn(result, page !== undefined) } };
    },
  };
}

type Result = Readonly<Record<string, unknown>>;

/** Calls that are never answered leave with the oldest. */
const MOST_CALLS = 10_000;

function noteCall(calls: Set<string | number>, id: string | number): void {
  const [oldest] = calls;
  if (calls.size >= MOST_CALLS && oldest !== undefined) calls.delete(oldest);
  calls.add(id);
}

/** Members of a result that are no data of the tool. */
const ENVELOPE: ReadonlySet<string> = new Set(['_meta', 'isError', 'resultType']);

/** The data of a result without content becomes its payload, such as `toolResult` of the oldest protocol. null: there is none. */
function withPayload(result: Result): Result | null {
  if (result['content'] !== undefined || result['structuredContent'] !== undefined) return result;
  if ((result['resultType'] ?? 'complete') !== 'complete') return result;
  const members = Object.entries(result);
  const data = members.filter(([key]) => !ENVELOPE.has(key));
  if (data.length === 0) return result['isError'] === true ? result : null;
  const { toolResult = null, ...others } = Object.fromEntries(data);
  const payload = Object.keys(others).length === 0 ? toolResult : Object.fromEntries(data);
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return {
    ...Object.fromEntries(members.filter(([key]) => ENVELOPE.has(key))),
    ...(isObject(payload) ? { structuredContent: payload } : { content: [{ type: 'text', text }] }),
  };
}

interface ResultFault {
  readonly reason: string;
  readonly data: object;
}

/** The protocol's own check says neither where a result is wrong nor what else it holds. null: nothing is wrong. */
function resultFault(result: Result): ResultFault | null {
  const { content, resultType = 'complete' } = result;
  if (resultType !== 'complete' || isPlain(result)) return null;
  const given = { content: [], ...result, resultType };
  const issues = issuesOf(specTypeSchemas.CallToolResult, given);
  if (issues.length === 0) return null;
  const items = Array.isArray(content) ? (content as unknown[]) : [];
  const faults = [
    ...issues.filter(({ path }) => !/^content\.\d/.test(path)),
    ...items.flatMap((item, index) => itemFaults(item, `content.${index}`)),
  ];
  const errors = (faults.length === 0 ? issues : faults).slice(0, MOST_FAULTS);
  const text = typeof content === 'string' ? [{ type: 'text', text: content }] : [];
  const said = keptContent([...text, ...items.filter((item) => itemFaults(item, '').length === 0)]);
  const [first] = errors;
  const place = first === undefined ? '' : `: ${first.path}: ${first.message}`;
  return {
    reason: `does not follow the protocol${place}`.slice(0, MOST_REASON_CHARACTERS),
    data: { errors, ...(said.length === 0 ? {} : { content: said }) },
  };
}

const MOST_FAULTS = 10;
const MOST_REASON_CHARACTERS = 400;

/** Nearly every result: the check of all the others takes longer than the rest of a call. */
function isPlain({ content, structuredContent, isError, _meta: meta }: Result): boolean {
  if (!Array.isArray(content) || meta !== undefined) return false;
  if (structuredContent !== undefined && !isObject(structuredContent)) return false;
  if (isError !== undefined && typeof isError !== 'boolean') return false;
  return content.every(
    (item) =>
      isObject(item) &&
      item['type'] === 'text' &&
      typeof item['text'] === 'string' &&
      item['annotations'] === undefined &&
      item['_meta'] === undefined,
  );
}

const KINDS = {
  text: specTypeSchemas.TextContent,
  image: specTypeSchemas.ImageContent,
  audio: specTypeSchemas.AudioContent,
  resource: specTypeSchemas.EmbeddedResource,
  resource_link: specTypeSchemas.ResourceLink,
} as const;

function itemFaults(item: unknown, place: string): Issue[] {
  if (!isObject(item)) return [{ path: place, message: 'is not an object' }];
  const kind = typeof item['type'] === 'string' ? item['type'] : '';
  if (!Object.hasOwn(KINDS, kind))
    return [{ path: `${place}.type`, message: `is not one of ${Object.keys(KINDS).join(', ')}` }];
  const issues = issuesOf(KINDS[kind as keyof typeof KINDS], item);
  return issues.map(({ path, message }) => ({ path: `${place}.${path}`, message }));
}

/** Only this guard writes our own member of `_meta`. A result that is an error needs no structured content. */
function withTaskInMeta(result: Result): Result {
  const { _meta: meta } = result;
  const made = taskIn(result);
  if (made !== null) {
    const task = { content: [], isError: true, _meta: { [TASK_META]: made } };
    return { ...result, resultType: 'complete', ...task };
  }
  if (!isObject(meta) || !Object.hasOwn(meta, TASK_META)) return result;
  const { [TASK_META]: _forged, ...others } = meta;
  return { ...result, _meta: others };
}

/** Members of the result in the modern protocol, one member of it in the older one, where a result has content. */
function taskIn(result: Result): Result | null {
  const { resultType, task, content } = result;
  if (resultType === 'task') return result;
  const isOlder = resultType === undefined && content === undefined && isObject(task) && 'taskId' in task;
  return isOlder ? task : null;
}

/** Each tool by itself: the protocol's check refuses the whole list. */
function readPage({ listing }: Page, { nextCursor, ...result }: Result): Result {
  const { tools = null } = result;
  if (tools !== null && !Array.isArray(tools)) return result;
  const before = listing.tools - (tools?.length ?? 0);
  const read = (tools ?? []).map((tool: unknown, index) => readDescriptor(tool, before + index));
  const next = cursorIn(nextCursor);
  return { ...result, tools: read, ...(next === undefined ? {} : { nextCursor: next }) };
}

/** undefined: the list ends here. */
function cursorIn(nextCursor: unknown): string | undefined {
  if (typeof nextCursor === 'number') return nextCursor === 0 ? undefined : String(nextCursor);
  return typeof nextCursor === 'string' ? nextCursor : undefined;
}

/** The older protocols have none of these members, and ignore them. */
function missingIn({ resultType, ttlMs, cacheScope }: Result, isListing: boolean): Result {
  const complete = resultType === undefined || resultType === null ? { resultType: 'complete' } : {};
  if (!isListing) return complete;
  const isTold = Number.isSafeInteger(ttlMs) && Number(ttlMs) >= 0;
  return {
    ...complete,
    ...(isTold ? {} : { ttlMs: 0 }),
    ...(isScope(cacheScope) ? {} : { cacheScope: 'private' }),
  };
}

function isScope(scope: unknown): boolean {
  return scope === 'public' || scope === 'private';
}

/** The protocol's check of a wrong item is expensive: it tries every kind of content and records each fault. */
export function contentExcess({ content }: Result): string | null {
  const items = Array.isArray(content) ? content.length : 0;
  return items > MAX_CONTENT_ITEMS ? `has more than ${MAX_CONTENT_ITEMS} items of content` : null;
}

function listingExcess({ listing, cursor }: Page, result: Result): string | null {
  const { tools } = result;
  const nextCursor = cursorIn(result['nextCursor']);
  listing.pages += 1;
  listing.tools += Array.isArray(tools) ? tools.length : 0;
  listing.bytes += JSON.stringify(result).length;
  const { maxPages, maxTools, maxBytes } = LISTING_LIMITS;
  if (listing.tools > maxTools) return `lists more than ${maxTools} tools`;
  if (listing.bytes > maxBytes) return `lists tools of more than ${maxBytes} bytes`;
  if (nextCursor === undefined) return null;
  if (listing.pages >= maxPages) return `lists tools on more than ${maxPages} pages`;
  // Some servers end a list by repeating its last page; the SDK accepts that.
  const isLoop = nextCursor !== cursor && listing.cursors.has(nextCursor);
  listing.cursors.add(nextCursor);
  return isLoop ? 'lists its tools in a circle of pages' : null;
}
