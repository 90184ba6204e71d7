/** Checks each answer before the protocol does: an endless listing, or a result with too many items, is refused.
 *  It must never change what a tool has said: it only fills in what the modern protocol requires and servers forget. */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isObject } from '../contract/json-object.ts';
import { refusedAnswer } from './message-delivery.ts';
import { LISTING_LIMITS, MAX_CONTENT_ITEMS } from './message-limits.ts';
import { readDescriptor } from './read-descriptor.ts';

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

/** Where in `_meta` the task stands that a server answers a call with: the protocol's client knows results only. */
export const TASK_META = 'adjutant/task';

export function createAnswerGuard(): AnswerGuard {
  const asked = new Map<string | number, Page>();
  let current: Listing | null = null;
  return {
    sends(message) {
      if (!('method' in message && 'id' in message) || message.method !== 'tools/list') return;
      const cursor: unknown = message.params?.['cursor'];
      if (cursor === undefined || current === null)
        current = { pages: 0, tools: 0, bytes: 0, cursors: new Set() };
      asked.set(message.id, { listing: current, cursor });
    },
    checked(message) {
      if ('method' in message || message.id === undefined) return message;
      const page = asked.get(message.id);
      asked.delete(message.id);
      if (!('result' in message)) return message;
      const result = page === undefined ? withTaskInMeta(message.result) : message.result;
      const reason = page === undefined ? contentExcess(result) : listingExcess(page, result);
      if (reason !== null) return refusedAnswer(message.id, reason);
      const read = page === undefined ? result : readPage(page, result);
      return { ...message, result: { ...read, ...missingIn(result, page !== undefined) } };
    },
  };
}

type Result = Readonly<Record<string, unknown>>;

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
  const isCacheable = Number.isInteger(ttlMs) && Number(ttlMs) >= 0 && isScope(cacheScope);
  return { ...complete, ...(isCacheable ? {} : { ttlMs: 0, cacheScope: 'private' }) };
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
