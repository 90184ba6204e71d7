// What spans show of prompts, arguments and results: nothing by default; else redacted, and cut to a number of bytes.
// Must never show the value of a key that names a secret.
import { type JsonValue, jsonSafe } from '../../../contract/json/json-safe.ts';
import { redact } from '../../../contract/json/redaction.ts';
import type { HideText } from '../../../contract/json/secret-text.ts';

export interface ContentLimit {
  /** The most bytes of one attribute; 0: content is not shown. */
  readonly bytes: number;
  /** Applied before the text is cut: the beginning of a secret would not be recognised. Default: no secret is known. */
  readonly hide?: HideText;
}

/** undefined: it is not shown. */
export function shown({ bytes, hide = (text) => text }: ContentLimit, value: unknown): string | undefined {
  if (bytes === 0 || value === undefined || value === null) return undefined;
  const safe = redacted(jsonSafe(value));
  return cutToBytes(hide(typeof safe === 'string' ? safe : JSON.stringify(safe)), bytes);
}

/** Texts that are JSON themselves hide no secret: tools answer so. */
function redacted(value: JsonValue): JsonValue {
  if (typeof value === 'string') return redactedText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(redacted);
  return redact(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, redacted(member)])));
}

function redactedText(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.stringify(redacted(jsonSafe(JSON.parse(text))));
  } catch {
    return text;
  }
}

/** Whole characters only. */
function cutToBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const cut = Buffer.from(text).subarray(0, bytes);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(cut).replace(/\uFFFD+$/, '');
}
