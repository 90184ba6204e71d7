/** Reads a tool's answer into the canonical result: removes its directives first, then reads its content.
 *  It must never show a directive to the model, nor drop a kind of content it does not know. */
import {
  type DirectiveTrust,
  type RejectedDirective,
  extractDirectives,
} from '../../contract/run/control-directive.ts';
import { normalizeError } from '../../contract/error-envelope.ts';
import { parseKeepingDigits } from '../../contract/json/exact-json.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { type Result, errorResult, okResult } from '../../contract/result.ts';
import { toolContent } from '../../contract/tool/tool-content.ts';
import { shortened } from '../../platform/json-schema/shortened-text.ts';
import type { RawToolResult } from './tool-call.ts';

export type { DirectiveTrust } from '../../contract/run/control-directive.ts';

export interface ReadToolResult {
  /** Result for programs. The accepted control directives are its effects. */
  readonly result: Result;
  /** Content for models: one JSON string, with media described instead of quoted. */
  readonly content: string;
  readonly rejected: readonly RejectedDirective[];
}

export interface ReadOptions {
  readonly trust?: DirectiveTrust;
  /** Bound of `content`, characters. Default: that of the contract. */
  readonly characters?: number;
}

type Members = Record<string, unknown>;

export function readToolResult(raw: RawToolResult, options: ReadOptions = {}): ReadToolResult {
  const { result: shown, directives, rejected } = extractDirectives(raw, options);
  const answer = isObject(shown) ? shown : {};
  const items = Array.isArray(answer['content']) ? (answer['content'] as unknown[]) : [];
  const structured = answer['structuredContent'];
  if (answer['isError'] === true) {
    const result = errorResult(toolError(items, structured), directives);
    return { result, content: toolContent(result, options.characters), rejected };
  }
  const result = okResult(payloadOf(items, structured), directives);
  const described = okResult(payloadOf(items.map(describedItem), structured));
  const content = toolContent(described, options.characters);
  return { result, content, rejected };
}

/** The text or the structured content alone when there is nothing else; otherwise every item as it was sent. */
function payloadOf(items: readonly unknown[], structured: unknown): unknown {
  const texts = items.filter(isText);
  if (texts.length < items.length) {
    return structured === undefined ? { content: items } : { content: items, structured_content: structured };
  }
  return structured === undefined ? texts.map((item) => item.text).join('\n') : structured;
}

const NO_MESSAGE = 'The tool reported an error without a message';

/** The error that the tool describes as JSON, else its text. Everything else that it sent is kept. */
function toolError(items: readonly unknown[], structured: unknown): ReturnType<typeof normalizeError> {
  const source = errorSource(items, structured);
  if (source !== null) return normalizeError(withHint(withKept(source)), 'tool_error', NO_MESSAGE);
  const others = items.filter((item) => !isText(item)).map(describedItem);
  const details = {
    ...(others.length > 0 ? { content: others } : {}),
    ...(structured === undefined ? {} : { structured_content: structured }),
  };
  return normalizeError({ type: 'tool_error', message: textOf(items).trim() || NO_MESSAGE, details });
}

/** The object in which a tool describes its failure, and what it sent beside that. */
interface ErrorSource {
  readonly error: Members;
  readonly beside: Members;
}

/** In the structured content, in all texts as one object, or in the first text that is such an object. */
function errorSource(items: readonly unknown[], structured: unknown): ErrorSource | null {
  const texts = items.filter(isText);
  const whole = errorObject(parsed(textOf(items)));
  const inStructured = errorObject(structured);
  if (inStructured !== null) {
    // Servers repeat the structured content as text, for clients that read text only.
    const isRepeated = whole !== null;
    return {
      error: inStructured,
      beside: besideItems(isRepeated ? items.filter((item) => !isText(item)) : items),
    };
  }
  const structuredBeside = structured === undefined ? {} : { structured_content: structured };
  if (whole !== null) {
    const others = items.filter((item) => !isText(item));
    return { error: whole, beside: { ...structuredBeside, ...besideItems(others) } };
  }
  const hasFlag = texts.find((item) => errorObject(parsed(item.text)) !== null);
  const error = hasFlag && errorObject(parsed(hasFlag.text));
  if (!hasFlag || !error) return null;
  return { error, beside: { ...structuredBeside, ...besideItems(items.filter((item) => item !== hasFlag)) } };
}

function besideItems(items: readonly unknown[]): Members {
  return items.length > 0 ? { content: items.map(describedItem) } : {};
}

/** Keys that an error has fields for; every other key is a detail. */
const ERROR_KEYS: ReadonlySet<string> = new Set([
  'type',
  'code',
  'message',
  'details',
  'retryable',
  'retryable?',
]);

/** The error, with everything else that was sent in its details; its own details win. */
function withKept({ error, beside }: ErrorSource): Members {
  const others = Object.fromEntries(Object.entries(error).filter(([key]) => !ERROR_KEYS.has(key)));
  const { details } = error;
  const own = isObject(details) ? details : details === undefined || details === null ? {} : { details };
  const coded =
    typeof error['type'] === 'string' && error['code'] !== undefined ? { code: error['code'] } : {};
  return { ...error, details: { ...coded, ...others, ...beside, ...own } };
}

/** An error that names a waiting time, and does not say whether it is retryable, is retryable. */
function withHint(error: Members): Members {
  const hasFlag = typeof (error['retryable'] ?? error['retryable?']) === 'boolean';
  const waitMs = isObject(error['details']) ? error['details']['retry_after_ms'] : undefined;
  return hasFlag || typeof waitMs !== 'number' || !(waitMs >= 0) ? error : { ...error, retryable: true };
}

function textOf(items: readonly unknown[]): string {
  return items
    .filter(isText)
    .map((item) => item.text)
    .join('\n');
}

/**
 * `{message, …}`, or `{error: {message, …}}` with the other members of the outer object. `normalizeError` keeps types
 * that it does not know.
 */
function errorObject(value: unknown): Members | null {
  if (!isObject(value)) return null;
  if (typeof value['message'] === 'string') return value;
  const { error: inner, ...outer } = value;
  return isObject(inner) && typeof inner['message'] === 'string' ? { ...outer, ...inner } : null;
}

function parsed(text: string): unknown {
  if (!text.trimStart().startsWith('{')) return null;
  try {
    return parseKeepingDigits(text).value;
  } catch {
    return null;
  }
}

const MOST_KEPT_CHARACTERS = 64 * 1024;

/** The content of a result that is refused, in the details of its error: media described, long text cut. */
export function keptContent(items: readonly unknown[]): unknown[] {
  let left = MOST_KEPT_CHARACTERS;
  return items.flatMap((item) => {
    const shown = describedItem(item);
    const text = isText(shown) ? { ...shown, text: shortened(shown.text, Math.max(1, left)) } : shown;
    const characters = JSON.stringify(text).length;
    const fits = left > 0 && (isText(text) || characters <= left);
    left -= fits ? characters : 0;
    return fits ? [text] : [];
  });
}

/** Media in a form that a model can use: its kind and size, not its base64. */
function describedItem(item: unknown): unknown {
  if (!isObject(item)) return item;
  if (typeof item['data'] === 'string') return withoutBytes(item, 'data');
  const resource = item['resource'];
  if (!isObject(resource) || typeof resource['blob'] !== 'string') return item;
  return { ...item, resource: withoutBytes(resource, 'blob') };
}

function withoutBytes(item: Members, key: string): Members {
  const { [key]: base64, ...rest } = item;
  return { ...rest, bytes: Buffer.byteLength(String(base64), 'base64') };
}

function isText(item: unknown): item is { type: 'text'; text: string } {
  return isObject(item) && item['type'] === 'text' && typeof item['text'] === 'string';
}
