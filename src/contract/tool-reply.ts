// A raw tool reply taken apart: what it says, and the control directives that ride on it.
// Must never judge a directive, and never leave `_directives` where a model could read it.

export interface ToolReply {
  /** The reply in its own shape, without directives. */
  readonly result: unknown;
  /** The members of `_directives`, unread. */
  readonly entries: readonly unknown[];
  readonly isError: boolean;
  /** The text mentions directives and is too large to parse. */
  readonly tooLarge: boolean;
}

type Members = Record<string, unknown>;

const CARRIER = '_directives';
const MAX_TEXT_CHARACTERS = 16 * 1024 * 1024;
const JSON_OBJECT_START = /^[ \t\r\n]*\{/;

/** Reads an MCP tool result, or the text of one. Never throws; what cannot be read carries nothing. */
export function readReply(raw: unknown): ToolReply {
  try {
    if (typeof raw === 'string') return readText(raw);
    return isMembers(raw) ? readToolResult(raw) : plain(raw, false);
  } catch {
    return plain(raw, false);
  }
}

function readText(text: string): ToolReply {
  if (isTooLarge(text)) return { ...plain(text, false), tooLarge: true };
  const carrier = carrierIn(text);
  if (!carrier) return plain(text, false);
  return { result: textWithout(carrier), entries: entriesOf(carrier), isError: false, tooLarge: false };
}

function readToolResult(raw: Members): ToolReply {
  const isError = raw['isError'] === true;
  const structured = raw['structuredContent'];
  const fromStructured = isMembers(structured) && Object.hasOwn(structured, CARRIER) ? structured : null;
  const content = Array.isArray(raw['content']) ? (raw['content'] as unknown[]) : [];
  const text = content
    .filter(isTextItem)
    .map((item) => item.text)
    .join('');
  const tooLarge = isTooLarge(text);
  const fromText = tooLarge ? null : carrierIn(text);
  const carrier = fromStructured ?? fromText;
  if (!carrier) return { ...plain(raw, isError), tooLarge };
  const result = {
    ...withoutStructured(raw, fromStructured),
    content: fromText || content.length === 0 ? withText(content, textWithout(fromText ?? carrier)) : content,
  };
  return { result, entries: entriesOf(carrier), isError, tooLarge };
}

/** `structuredContent` loses its directives, and disappears when it was only their wrapping. */
function withoutStructured(raw: Members, carrier: Members | null): Members {
  if (!carrier) return raw;
  const { structuredContent: _carrier, ...rest } = raw;
  const { [CARRIER]: _entries, ...members } = carrier;
  const isWrapping = Object.keys(members).every((key) => key === 'result');
  return isWrapping ? rest : { ...rest, structuredContent: members };
}

/** One text item in the place of the first, the other kinds where they were. */
function withText(content: readonly unknown[], text: string): unknown[] {
  const first = content.findIndex(isTextItem);
  const others = content.filter((item) => !isTextItem(item));
  return others.toSpliced(Math.max(0, first), 0, { type: 'text', text });
}

/** The text of the reply proper: `result`, or what else the object said. */
function textWithout(carrier: Members): string {
  const { [CARRIER]: _entries, ...members } = carrier;
  const said = 'result' in members ? members['result'] : members;
  return typeof said === 'string' ? said : JSON.stringify(said);
}

function carrierIn(text: string): Members | null {
  if (!JSON_OBJECT_START.test(text) || !text.includes(`"${CARRIER}"`)) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return isMembers(parsed) && Object.hasOwn(parsed, CARRIER) ? parsed : null;
  } catch {
    return null;
  }
}

function entriesOf(carrier: Members): readonly unknown[] {
  const entries = carrier[CARRIER];
  return Array.isArray(entries) ? (entries as unknown[]) : [];
}

function plain(result: unknown, isError: boolean): ToolReply {
  return { result, entries: [], isError, tooLarge: false };
}

function isTooLarge(text: string): boolean {
  return text.length > MAX_TEXT_CHARACTERS && text.includes(`"${CARRIER}"`);
}

function isTextItem(item: unknown): item is { type: 'text'; text: string } {
  return isMembers(item) && item['type'] === 'text' && typeof item['text'] === 'string';
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
