/** The payload of a result as text: the tool's text, or JSON.
 *  It must never lose a part of it. */
import { encryptedKeyId, encryptedNote } from '../contract/encrypted.ts';
import { plainJson, printable } from './terminal.ts';

interface ContentItem {
  readonly type: string;
  readonly text?: string;
}

/** Text stays text, cleaned for a terminal by default; everything else becomes indented JSON. */
export function payloadText(payload: unknown, clean: (text: string) => string = printable): string {
  if (typeof payload === 'string') return clean(payload);
  const keyId = clean === unchanged ? null : encryptedKeyId(payload);
  if (keyId !== null) return clean(encryptedNote(keyId));
  const items = contentOf(payload);
  if (items !== null && items.every(isText)) return clean(items.map(({ text }) => text).join('\n'));
  return plainJson(payload, 2);
}

/** Files and programs get the text unchanged. */
export function unchanged(text: string): string {
  return text;
}

function contentOf(payload: unknown): readonly ContentItem[] | null {
  const content =
    typeof payload === 'object' && payload !== null && 'content' in payload ? payload.content : payload;
  return Array.isArray(content) && content.length > 0 && content.every(isItem) ? content : null;
}

function isItem(value: unknown): value is ContentItem {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function isText(item: ContentItem): boolean {
  return item.type === 'text' && typeof item.text === 'string';
}
