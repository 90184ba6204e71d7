/** The payload of a result as text: what the tool said, or JSON.
 *  It must never lose a part of it. */
import { printable } from './terminal.ts';

interface ContentItem {
  readonly type: string;
  readonly text?: string;
}

/** Text alone stays text; everything else is JSON, indented. */
export function payloadText(payload: unknown): string {
  if (typeof payload === 'string') return printable(payload);
  const items = contentOf(payload);
  if (items !== null && items.every(isText)) return printable(items.map(({ text }) => text).join('\n'));
  return JSON.stringify(payload, null, 2) ?? '';
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
