// Splits a raw tool reply into its content and the control directives in it.
// Must never judge a directive, and never leave `_directives` where a model could read it.
import { canonicalJson } from '../json/canonical-json.ts';
import { parseKeepingDigits } from '../json/exact-json.ts';
import { findJsonHazard } from '../json/json-guard.ts';
import { isObject } from '../json/json-object.ts';
import { jsonSafe } from '../json/json-safe.ts';

/** Reply of a tool, split into its result and its control directives. */
export interface ToolReply {
  /** The reply in its own shape, without directives. */
  readonly result: unknown;
  /** The members of every `_directives`, unread; a list that the text repeats from the structured content counts once. */
  readonly entries: readonly unknown[];
  /** Number of `_directives` that are no lists. */
  readonly unlisted: number;
  readonly isError: boolean;
  /** The reply is too large to search for directives. */
  readonly tooLarge: boolean;
}

type Members = Record<string, unknown>;

const CARRIER = '_directives';
const MAX_TEXT_CHARACTERS = 16 * 1024 * 1024;
const MAX_ITEMS = 100_000;
const JSON_OBJECT_START = /^[ \t\r\n]*\{/;

/** Reads an MCP tool result, or the text of one. Never throws; an unreadable reply carries no directives. */
export function readReply(raw: unknown): ToolReply {
  try {
    if (typeof raw === 'string') return readText(raw);
    return isObject(raw) ? readToolResult(raw) : plain(raw, false);
  } catch {
    return plain(raw, false);
  }
}

function readText(text: string): ToolReply {
  if (isTooLarge(text)) return { ...plain(text, false), tooLarge: true };
  const carrier = carrierIn(text);
  if (!carrier) return plain(text, false);
  return { result: textWithout(carrier), ...listed([carrier]), isError: false, tooLarge: false };
}

function readToolResult(raw: Members): ToolReply {
  const isError = raw['isError'] === true;
  const structured = structuredCarrier(raw);
  const content = Array.isArray(raw['content']) ? (raw['content'] as unknown[]) : [];
  const texts = readContent(content);
  const isRepeated = structured !== null && repeats(texts.carriers, structured);
  const carriers = [...(structured ? [structured] : []), ...(isRepeated ? [] : texts.carriers)];
  if (carriers.length === 0) return { ...plain(raw, isError), tooLarge: texts.tooLarge };
  const shown = texts.content.length > 0 || !structured ? texts.content : textItem(textWithout(structured));
  const result = { ...withoutStructured(raw, structured), content: shown };
  return { result, ...listed(carriers), isError, tooLarge: texts.tooLarge };
}

/** The structured content itself, or its only member `result`: FastMCP wraps so what a tool returns as text. */
function structuredCarrier(raw: Members): Members | null {
  const structured = raw['structuredContent'];
  if (!isObject(structured)) return null;
  if (Object.hasOwn(structured, CARRIER)) return structured;
  const { result, ...others } = structured;
  if (Object.keys(others).length > 0) return null;
  if (typeof result === 'string') return isTooLarge(result) ? null : carrierIn(result);
  return isObject(result) && Object.hasOwn(result, CARRIER) ? result : null;
}

/** Whether the text has the list of the structured content once more, as servers send it for clients that read text only. */
function repeats(texts: readonly Members[], structured: Members): boolean {
  const [first, ...others] = texts;
  return first !== undefined && others.length === 0 && sameJson(first[CARRIER], structured[CARRIER]);
}

function sameJson(left: unknown, right: unknown): boolean {
  const values = [left, right];
  if (values.some((value) => findJsonHazard(value) !== null)) return false;
  const [one, other] = values.map((value) => canonicalJson(value));
  return one === other;
}

interface ReadContent {
  /** The items, with the text of each carrier in its place. */
  readonly content: readonly unknown[];
  readonly carriers: readonly Members[];
  readonly tooLarge: boolean;
}

/** All text items as one object, else each on its own. */
function readContent(content: readonly unknown[]): ReadContent {
  if (content.length > MAX_ITEMS) return { content, carriers: [], tooLarge: true };
  const texts = content.filter(isTextItem);
  const joined = texts.map((item) => item.text).join('');
  if (isTooLarge(joined)) return { content, carriers: [], tooLarge: true };
  const whole = carrierIn(joined);
  if (whole) return { content: withText(content, textWithout(whole)), carriers: [whole], tooLarge: false };
  const carriers: Members[] = [];
  const shown = content.map((item) => {
    const carrier = isTextItem(item) ? carrierIn(item.text) : null;
    if (!carrier) return item;
    carriers.push(carrier);
    return { ...(item as Members), text: textWithout(carrier) };
  });
  return { content: shown, carriers, tooLarge: false };
}

/** `structuredContent` without its directives; removed when it held nothing else. */
function withoutStructured(raw: Members, carrier: Members | null): Members {
  if (!carrier) return raw;
  const { structuredContent: _carrier, ...rest } = raw;
  const { [CARRIER]: _entries, ...members } = carrier;
  const isWrapping = Object.keys(members).every((key) => key === 'result');
  return isWrapping ? rest : { ...rest, structuredContent: members };
}

/** Replaces the first text item; other items keep their position. */
function withText(content: readonly unknown[], text: string): unknown[] {
  const first = content.findIndex(isTextItem);
  const others = content.filter((item) => !isTextItem(item));
  return others.toSpliced(Math.max(0, first), 0, ...textItem(text));
}

/** The text of the reply proper: `result`, or the other members of the object. */
function textWithout(carrier: Members): string {
  const { [CARRIER]: _entries, ...members } = carrier;
  const content = 'result' in members ? members['result'] : members;
  return typeof content === 'string' ? content : jsonText(content);
}

function jsonText(value: unknown): string {
  return JSON.stringify(findJsonHazard(value) === null ? value : jsonSafe(value));
}

function textItem(text: string): { type: 'text'; text: string }[] {
  return [{ type: 'text', text }];
}

function carrierIn(text: string): Members | null {
  if (!JSON_OBJECT_START.test(text) || !text.includes(`"${CARRIER}"`)) return null;
  try {
    const parsed = parseKeepingDigits(text).value;
    return isObject(parsed) && Object.hasOwn(parsed, CARRIER) ? parsed : null;
  } catch {
    return null;
  }
}

function listed(carriers: readonly Members[]): Pick<ToolReply, 'entries' | 'unlisted'> {
  const lists = carriers.map((carrier) => carrier[CARRIER]).filter((list) => Array.isArray(list));
  return { entries: lists.flat(), unlisted: carriers.length - lists.length };
}

function plain(result: unknown, isError: boolean): ToolReply {
  return { result, entries: [], unlisted: 0, isError, tooLarge: false };
}

function isTooLarge(text: string): boolean {
  return text.length > MAX_TEXT_CHARACTERS && text.includes(`"${CARRIER}"`);
}

function isTextItem(item: unknown): item is { type: 'text'; text: string } {
  return isObject(item) && item['type'] === 'text' && typeof item['text'] === 'string';
}
