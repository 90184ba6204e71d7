// The content of prompts, arguments and results in spans: none by default; else redacted, and cut to a number of bytes.
// Never shows the value of a key that names a secret.
import { jsonSafe } from '../../../contract/json/json-safe.ts';
import { redactTexts } from '../../../contract/json/redaction.ts';
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
  const safe = redactTexts(jsonSafe(value));
  return cutToBytes(hide(typeof safe === 'string' ? safe : JSON.stringify(safe)), bytes);
}

/** Whole characters only. */
function cutToBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const cut = Buffer.from(text).subarray(0, bytes);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(cut).replace(/\uFFFD+$/, '');
}
